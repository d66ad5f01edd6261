// The library as of 9ca622fab2, by tools/pack/library-before.ts
var Vs="foothold_pauses";function G(t){let e=t.release===void 0?"":` or p.kind = 'release' and p.value = ${t.release}`;return`select p.* from foothold.pauses p
    where p.kind = 'agent' and p.value = split_part(${t.handler}, '@', 1) or p.kind = 'tenant' and p.value = ${t.tenant}${e}`}function Ke({kind:t,value:e,since:n,reason:r,paused_by:o}){return{kind:t,value:e,since:new Date(n),reason:r,by:o}}async function dn(t,e){let n=await t.run(`insert into foothold.pauses (kind, value, since, reason, paused_by) values ($1, $2, foothold.clock(), $3, $4)
     on conflict (kind, value) do update set value = excluded.value returning *`,[e.kind,e.value,e.reason,e.by],{doing:"pausing"});return Ke(n[0])}async function un(t,e,n){return(await t.run("delete from foothold.pauses where kind = $1 and value = $2 returning 1",[e,n],{doing:"ending a pause"})).length>0}async function cn(t){return(await t.run("select * from foothold.pauses order by kind, value",[],{doing:"listing pauses"})).map(Ke)}async function fn(t,e,n){let r={agent:"select 1 from foothold.agents where name = $1 limit 1",tenant:"select 1 from foothold.tasks where tenant <> '' and tenant = $1 limit 1",release:"select 1 from foothold.workers where release = $1 limit 1"}[e];return(await t.run(r,[n],{doing:"looking for what is to be paused"})).length>0}async function mn(t,e,n){if(e==="release")return;let r=e==="agent"?"split_part(handler, '@', 1) = $1":"tenant = $1";for(let o of["pending","waiting"])for(let s="00000000-0000-0000-0000-000000000000";s!==null;)s=(await t.run(`with c as materialized (
           select id from foothold.tasks
           where status = $2 and id > $3 and ${r} and deadline_ms is not null and deadline_at is not null
           order by id limit 500 for no key update),
         t as (update foothold.tasks t set deadline_at = null from c where t.id = c.id)
         select max(id::text) as last from c`,[n,o,s],{doing:"renewing deadlines"}))[0]?.last??null}async function pn(t,e){return(await t.run(`with p as materialized (
       select coalesce(array_agg(value), '{}') as tenants from foothold.pauses where kind = 'tenant'),
     c as materialized (
       select t.id from foothold.workers w cross join lateral unnest(w.handlers) h(handler) cross join lateral (
         select id from (
           select id, tenant from foothold.tasks
           where status = 'pending' and not suspect and handler = h.handler
           order by priority, run_at, id limit 2000) head
         where tenant = any ((select tenants from p)::text[]) limit 500) t
       where w.id = $1 limit 500),
     l as materialized (
       select id from foothold.tasks where id in (select id from c) and status = 'pending' order by id for no key update skip locked),
     t as (update foothold.tasks t set status = 'waiting', waiting_for = 'pause', wake_at = null from l where t.id = l.id returning 1)
     select count(*)::int as count from t`,[e],{doing:"setting paused tasks aside",patienceMs:0}))[0]?.count??0}async function hn(t){return(await t.run(`with recursive d(tenant) as (
       (select min(tenant) from foothold.tasks where status = 'waiting' and waiting_for = 'pause')
       union all
       select (select min(t.tenant) from foothold.tasks t where t.status = 'waiting' and t.waiting_for = 'pause' and t.tenant > d.tenant)
       from d where d.tenant is not null),
     free as materialized (
       select tenant from d
       where tenant is not null and not exists (select 1 from foothold.pauses p where p.kind = 'tenant' and p.value = d.tenant)),
     c as materialized (
       select id from foothold.tasks
       where status = 'waiting' and waiting_for = 'pause' and tenant in (select tenant from free)
       order by id limit 500 for no key update skip locked),
     t as (
       update foothold.tasks t set status = 'pending', waiting_for = null,
         deadline_at = case when deadline_ms is null then deadline_at end
       from c where t.id = c.id returning handler)
     select count(*)::int as count, coalesce(array_agg(distinct handler), '{}') as handlers from t`,[],{doing:"taking paused tasks back",patienceMs:0}))[0]}var yn=`
  exists (select 1 from foothold.pauses where kind = 'tenant')
  or exists (select 1 from foothold.tasks where status = 'waiting' and waiting_for = 'pause')`;async function gn(t,e){await t.run(`select pg_notify('${Vs}', '')`,[],e)}var wn={DATABASE_URL_MISSING:()=>"No database URL was given. Set DATABASE_URL, for example postgres://user:password@127.0.0.1:5432/app, or pass it to connect().",DATABASE_UNAVAILABLE:t=>`PostgreSQL did not answer within ${t.waitedMs} ms while ${t.doing}.`,SCHEMA_MISSING:()=>"The foothold schema is missing, or older than this library: call connect() without `migrate: false` once.",SCHEMA_NEWER:t=>`The database's foothold schema is at version ${t.found}, this library knows ${t.known}: update the library.`,MIGRATION_CHANGED:t=>`Migration ${t.version} was applied with other contents than this library carries: restore the published package.`,INVALID_ARGUMENT:t=>`${t.field}: ${t.problem}.${t.cure===void 0?"":` ${t.cure}`}`,INPUT_INVALID:t=>`The input does not fit agent ${t.agent}: ${t.issues.map(e=>e.path===""?e.message:`${e.path}: ${e.message}`).join("; ")}.`,PAYLOAD_TOO_LARGE:t=>`${t.field} takes ${t.bytes} bytes, the limit is ${t.bytesMax}: store it elsewhere and pass a reference.`,VALUE_NOT_STORABLE:t=>`${t.field} cannot be stored: ${t.what} at ${t.path}. Return plain data (JSON values, Date, bigint, Map, Set, Uint8Array).`,AGENT_UNKNOWN:t=>`No agent named ${JSON.stringify(t.agent)} is known here. Known: ${t.known.length===0?"none, start a worker first":t.known.join(", ")}.`,TASK_NOT_FOUND:t=>`There is no task ${t.taskId}.`,DEDUPE_CONFLICT:t=>`Dedupe key ${JSON.stringify(t.dedupeKey)} was used with another input for task ${t.taskId}: use a new key for a new request.`,TASK_STATE_CONFLICT:t=>`Task ${t.taskId} is ${t.status}; ${t.wanted}.`,STEP_NOT_FOUND:t=>`Task ${t.taskId} has no step ${JSON.stringify(t.key)}. Its steps: ${t.known.join(", ")||"none"}.`,TASK_DEAD_LETTER:t=>`Task ${t.taskId} is a dead letter (${t.reason}): ${t.message}`,TASK_CANCELLED:t=>`Task ${t.taskId} was cancelled: ${t.reason}`,RESULT_TIMEOUT:t=>`Task ${t.taskId} did not end within ${t.timeoutMs} ms; it goes on.`,STEP_KEY_REUSED:t=>`Step key ${JSON.stringify(t.key)} is used twice in one task: first ${t.first}, again ${t.second}. Give each call its own key.`,STEP_FAILED:t=>`Step ${JSON.stringify(t.key)} failed after ${t.tries} ${t.tries===1?"try":"tries"} (${t.reason}): ${t.message}`,STEP_TIMEOUT:t=>`Step ${JSON.stringify(t.key)} did not end within ${t.timeoutMs} ms.`,CODE_CHANGED:t=>`The code changed under this task: step ${JSON.stringify(t.key)} is ${t.expected} here, but stored as ${t.stored}. Go on with the older code, or restart from a step.`,EFFECT_UNKNOWN:t=>`Nobody can know whether effect ${JSON.stringify(t.key)} happened: a person must look and decide.`,EFFECT_REQUEST_CHANGED:t=>`Effect ${JSON.stringify(t.key)} was sent with another request before; it is not sent silently in a new form.`,ATTEMPT_ENDED:t=>`This attempt has ended (${t.reason}); the task goes on elsewhere.`,WORKER_STATE:t=>t.problem,CLOSED:()=>"This Foothold connection was closed."},Bs=Object.keys(wn),f=class extends Error{name="FootholdError";code;details;"~foothold.error"=!0;constructor(e,n,r){super(wn[e](n),r),this.code=e,this.details=n}};function b(t,e){return typeof t!="object"||t===null||!("~foothold.error"in t)?!1:e===void 0||t.code===e}var yt=class extends Error{name="TerminalError";reason;"~foothold.failure"="terminal";constructor(e,n={}){super(e,n.cause===void 0?void 0:{cause:n.cause}),this.reason=n.reason??"step_failed"}},Se=class extends Error{name="RetryError";reason;afterMs;"~foothold.failure"="retry";constructor(e,n={}){super(e,n.cause===void 0?void 0:{cause:n.cause}),this.reason=n.reason??"step_failed",this.afterMs=n.afterMs??0}},Y=class extends Error{name="ReasonedError";reason;"~foothold.failure"="reasoned";constructor(e,n){super(e,n.cause===void 0?void 0:{cause:n.cause}),this.reason=n.reason??"step_failed"}};var zs="ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";var Te=Uint8Array.from(zs,t=>t.charCodeAt(0)),kn=new Uint8Array(128).fill(255);for(let[t,e]of Te.entries())kn[e]=t;function _n(t){let e=new Uint8Array(Math.ceil(t.length/3)*4),n=0;for(let r=0;r<t.length;r+=3){let o=K(t,r)<<16|K(t,r+1)<<8|K(t,r+2);e[n++]=K(Te,o>>18),e[n++]=K(Te,o>>12&63),e[n++]=K(Te,o>>6&63),e[n++]=K(Te,o&63)}return e.fill(61,e.length-(3-t.length%3)%3),new TextDecoder().decode(e)}function bn(t){if(t.length%4!==0)return null;let e=t.endsWith("==")?2:t.endsWith("=")?1:0,n=new Uint8Array(t.length/4*3-e),r=t.length-e,o=0;for(let s=0;s<t.length;s+=4){let a=0;for(let i=s;i<s+4;i++){let l=t.charCodeAt(i),d=i>=r?0:l<128?K(kn,l):255;if(d===255)return null;a=a<<6|d}n[o++]=a>>16,n[o++]=a>>8,n[o++]=a}return n}function K(t,e){return t[e]??0}var Js=/"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g,Xs=/^-?\d{16,}$/;function Ve(t){if(!/\d{16}/.test(t))return t;let e=new RegExp(Js),n="",r=0;for(let o=e.exec(t);o!==null;o=e.exec(t)){let[s]=o;s==='"'?e.lastIndex=Ys(t,o.index):Xs.test(s)&&String(Number(s))!==s&&(n+=`${t.slice(r,o.index)}{"$foothold":"bigint","value":"${s}"}`,r=e.lastIndex)}return n+t.slice(r)}function Ys(t,e){let n=e;do if(n=t.indexOf('"',n+1),n===-1)return t.length;while(Qs(t,n));return n+1}function Qs(t,e){let n=e-1;for(;t[n]==="\\";)n-=1;return(e-n)%2===0}var Be=512,Zs=/^[A-Za-z][A-Za-z0-9_.-]{0,99}$/;function O(t,e){if(typeof e!="string"||!Zs.test(e))throw new f("INVALID_ARGUMENT",{field:t,problem:`${Sn(e)} is not a name`,cure:'Use a Latin letter, then letters, digits, "_", "-" or ".", 100 characters at most.'})}function T(t,e){let n=ea(e);if(n!==null)throw new f("INVALID_ARGUMENT",{field:t,problem:n})}function ea(t){if(typeof t!="string")return`${Sn(t)} is not a string`;if(t==="")return"it is empty";if(t.length>Be)return`it has ${t.length} characters, the limit is ${Be} bytes`;if(t.includes("\0"))return"it contains U+0000";if(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/.test(t))return"it contains half of a surrogate pair";let e=gt(t);return e>Be?`it takes ${e} bytes, the limit is ${Be}`:null}function gt(t){let e=0;for(let n of t){let r=n.codePointAt(0);e+=r<128?1:r<2048?2:r<65536?3:4}return e}function Sn(t){return typeof t=="string"?JSON.stringify(t.slice(0,120)):`a value of type ${typeof t}`}var ze=16*1024*1024,Je=500,oe="$foothold";function A(t,e){let n=new kt(e),r;try{r=n.copy(t,0)}catch(s){throw b(s)?s:n.refusal(`reading it failed (${oa(s)})`,s)}let o=JSON.stringify(r);if(o.length*3>ze){let s=gt(o);if(s>ze)throw Tn(e,s)}return o}function Tn(t,e){return new f("PAYLOAD_TOO_LARGE",{field:t,bytes:e,bytesMax:ze})}var kt=class{#t;#e=[];#n=new Map;#s=0;#a=0;constructor(e){this.#t=e}copy(e,n){switch(typeof e){case"string":return this.#m(e.length+2),e;case"number":return this.#m(1),Number.isFinite(e)&&!Object.is(e,-0)?e:Q("number",Object.is(e,-0)?"-0":String(e));case"boolean":return this.#m(4),e;case"undefined":return this.#m(4),{[oe]:"undefined"};case"bigint":return this.#r(e);case"object":return e===null?null:this.#d(e,n);case"function":throw this.refusal(`a function${e.name===""?"":` (${e.name})`}`);case"symbol":throw this.refusal("a symbol")}}refusal(e,n){let r=M(`$${this.#e.map(ra).join("")}`,500),o={field:this.#t,path:r,what:M(e,300)};return new f("VALUE_NOT_STORABLE",o,n===void 0?void 0:{cause:n})}#r(e){let n=String(e);return this.#m(n.length),Q("bigint",n)}#d(e,n){let r=this.#n.get(e);if(r==="open")throw this.refusal("a cycle (an object inside itself)");if(n+(r?.height??0)>=Je)throw this.refusal(`nesting deeper than ${Je} levels`);return r===void 0?this.#p(e,n):this.#l(r,n)}#p(e,n){let{deepest:r,characters:o}={deepest:this.#a,characters:this.#s};this.#n.set(e,"open"),this.#a=n,this.#m(2);let s=this.#u(e,n+1);return this.#n.set(e,{copy:s,characters:this.#s-o,height:this.#a-n}),this.#a=Math.max(this.#a,r),s}#l(e,n){return this.#m(e.characters),this.#a=Math.max(this.#a,n+e.height),e.copy}#u(e,n){if(Array.isArray(e))return this.#c(e,n);if(e instanceof Uint8Array)return this.#y(e);let r=Object.getPrototypeOf(e);if(r===Date.prototype)return this.#h(e);if(r===Map.prototype)return this.#i(e,n);if(r===Set.prototype)return this.#w(e,n);if(na(r))return this.#o(e,n);throw this.refusal(wt(e))}#o(e,n){this.#k(e);let r={};for(let o of Object.keys(e))this.#m(o.length+3),ta(r,o,this.#g(o,e[o],n));return Object.hasOwn(r,oe)?Q("object",r):r}#c(e,n){if(Object.getPrototypeOf(e)!==Array.prototype&&e.constructor?.name!=="Array")throw this.refusal(wt(e));let r=Object.keys(e).at(-1);if(r!==void 0&&!/^\d+$/.test(r))throw this.refusal(`an array with a property ${JSON.stringify(r)}`);this.#k(e);let o=[];for(let s=0;s<e.length;s++)o.push(this.#g(s,e[s],n));return o}#i(e,n){this.#_(e);let r=[];for(let[o,s]of e){let a=r.length;r.push([this.#g({of:"keys",index:a},o,n),this.#g({of:"values",index:a},s,n)])}return Q("map",r)}#w(e,n){this.#_(e);let r=[];for(let o of e)r.push(this.#g({of:"values",index:r.length},o,n));return Q("set",r)}#h(e){if(this.#_(e),Number.isNaN(e.getTime()))throw this.refusal("an invalid Date");return Q("date",e.toISOString())}#y(e){return this.#m(Math.ceil(e.length/3)*4),Q("bytes",_n(e))}#g(e,n,r){this.#e.push(e);let o=this.copy(n,r);return this.#e.pop(),o}#_(e){let[n]=Object.keys(e);if(n!==void 0)throw this.refusal(`${wt(e)} with a property ${JSON.stringify(n)}`);this.#k(e)}#k(e){for(let n of Object.getOwnPropertySymbols(e))if(Object.prototype.propertyIsEnumerable.call(e,n))throw this.refusal(`a symbol as key (${String(n)})`)}#m(e){if(this.#s+=e,this.#s>ze)throw Tn(this.#t,this.#s)}};function Q(t,e){return{[oe]:t,value:e}}function ta(t,e,n){e==="__proto__"?Object.defineProperty(t,e,{value:n,enumerable:!0,writable:!0,configurable:!0}):t[e]=n}function na(t){return t===null||t===Object.prototype?!0:typeof t=="object"&&Object.getPrototypeOf(t)===null&&Object.hasOwn(t,"isPrototypeOf")}function wt(t){let{constructor:e}=t,n=typeof e=="function"&&e.name!==""?e.name:"a class";return t instanceof Promise?"a promise (await it first)":`an instance of ${n}`}function ra(t){return typeof t=="number"?`[${t}]`:typeof t=="object"?`.${t.of}()[${t.index}]`:/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(t)&&t.length<=60?`.${t}`:`[${JSON.stringify(t.length>60?`${t.slice(0,60)}\u2026`:t)}]`}function oa(t){return t instanceof Error?t.message:typeof t}function S(t){return bt(JSON.parse(Ve(t)),0)}function bt(t,e){if(typeof t!="object"||t===null)return t;if(e>=Je)throw Xe(`it is nested deeper than ${Je} levels`);return Array.isArray(t)?_t(t,e):Object.hasOwn(t,oe)?sa(t,e):An(t,e)}function _t(t,e){for(let n=0;n<t.length;n++)t[n]=bt(t[n],e+1);return t}function An(t,e){for(let n of Object.keys(t)){let r=t[n],o=bt(r,e+1);o!==r&&(t[n]=o)}return t}function sa(t,e){let{[oe]:n,value:r}=t;if(n!=="undefined"){if(typeof r=="string"){if(n==="date")return aa(r);if(n==="bigint"&&/^-?\d+$/.test(r))return BigInt(r);if(n==="number"&&["NaN","Infinity","-Infinity","-0"].includes(r))return Number(r);if(n==="bytes")return ia(r)}else if(Array.isArray(r)){if(n==="set")return new Set(_t(r,e));if(n==="map"&&r.every(o=>Array.isArray(o)&&o.length===2))return new Map(r.map(o=>_t(o,e)))}else if(n==="object"&&typeof r=="object"&&r!==null)return An(r,e);throw Xe(`${JSON.stringify(t).slice(0,120)} carries a tag this version does not know`)}}function aa(t){let e=new Date(t);if(Number.isNaN(e.getTime()))throw Xe(`${JSON.stringify(t.slice(0,60))} is not a date`);return e}function ia(t){let e=bn(t);if(e===null)throw Xe("its bytes are not base64");return e}function Xe(t){let e=`A key "${oe}" in JSON marks a value of another type; escape it.`;return new f("INVALID_ARGUMENT",{field:"stored value",problem:t,cure:e})}function M(t,e=2e3){let n=t;if(t.length>e){let r=Math.max(e-1,0);n=t.slice(0,la(t,r-1)?r-1:r)+(e>0?"\u2026":"")}return n.replaceAll("\0","\u2400").replace(new RegExp("\\p{Surrogate}","gu"),"\uFFFD")}function la(t,e){let n=t.charCodeAt(e);return n>=55296&&n<=56319}var St=["pending","processing","waiting","completed","cancelled","dead_letter"],se=["live","normal","batch"];var da=2e3,Tt=`
  t.id, t.agent, t.handler, t.status, t.priority, t.tenant, t.attempt, t.worker_id as "workerId", t.last_reason as "lastReason",
  case when t.status in ('pending', 'processing', 'waiting') then
    (select kind from (${G({handler:"t.handler",tenant:"t.tenant"})}) h order by kind limit 1) end as "pausedBy",
  t.waiting_for as "waitingFor", t.wake_at as "wakeAt", t.retry_count as "retryCount", t.crash_count as "crashCount",
  t.handover_count as "handoverCount", t.cancel_requested_at as "cancelRequestedAt", t.created_at as "createdAt",
  t.started_at as "startedAt", t.finished_at as "finishedAt"`;function At(t){return{id:t.id,agent:t.agent,version:ua(t.handler),status:t.status,priority:se[t.priority]??"normal",tenant:t.tenant===""?null:t.tenant,attempt:t.attempt,workerId:t.workerId,lastReason:t.lastReason,waitingFor:t.waitingFor,wakeAt:$(t.wakeAt),pausedBy:t.pausedBy,errorCount:t.retryCount,crashCount:t.crashCount,handoverCount:t.handoverCount,cancelRequestedAt:$(t.cancelRequestedAt),createdAt:new Date(t.createdAt),startedAt:$(t.startedAt),finishedAt:$(t.finishedAt)}}function ua(t){return Number(/@(\d+)/.exec(t)?.[1]??0)}var xn=`json_build_object(
  'key', s.key, 'kind', s.kind, 'status', s.status, 'version', s.version, 'tries', s.tries, 'attempt', s.attempt,
  'workerId', s.worker_id, 'output', s.output::text, 'error', s.error::text, 'usage', s.usage::text,
  'startedAt', s.started_at, 'finishedAt', s.finished_at)`;function En(t){return{key:t.key,kind:t.kind,status:t.status,version:t.version,tries:t.tries,attempt:t.attempt,workerId:t.workerId,output:V(t.output),error:U(t.error),usage:V(t.usage),startedAt:new Date(t.startedAt),finishedAt:$(t.finishedAt)}}var vn=`json_build_object(
  'attempt', a.attempt, 'workerId', a.worker_id, 'startedAt', a.started_at, 'endedAt', a.ended_at, 'outcome', a.outcome,
  'reason', a.reason, 'detail', a.detail)`;function Mn(t){return{...t,startedAt:new Date(t.startedAt),endedAt:new Date(t.endedAt)}}function $n(t){return{...t,startedAt:new Date(t.startedAt),lastHeartbeatAt:new Date(t.lastHeartbeatAt)}}function U(t){if(t===null)return null;let e=S(t);return{code:typeof e?.code=="string"?e.code:"UNKNOWN",message:typeof e?.message=="string"?e.message:t.slice(0,da)}}function V(t){return t===null?null:S(t)}function $(t){return t===null?null:new Date(t)}var ca=1e3;async function In(t,e){return(await t.run(`select ${Tt} from foothold.tasks t
     where ($1::text is null or t.status = $1) and ($2::text is null or t.agent = $2) and ($3::text is null or t.tenant = $3)
       and ($4::uuid is null or t.id < $4)
     order by t.id desc limit $5`,[e.status,e.agent,e.tenant,e.before,e.limit],{doing:"listing tasks"})).map(At)}async function Ye(t,e){let r=(await t.run(`select ${Tt}, t.deadline_at as "deadlineAt", t.parent_id as "parentId",
       p.input::text as input, p.output::text as output, p.error::text as error,
       coalesce((select json_agg(${xn} order by s.started_at, s.key)
                 from foothold.agent_steps s where s.task_id = t.id), '[]') as steps,
       coalesce((select json_agg(${vn} order by a.attempt)
                 from foothold.attempts a where a.task_id = t.id), '[]') as attempts
     from foothold.tasks t join foothold.task_payloads p on p.task_id = t.id
     where t.id = $1`,[e],{doing:"reading a task"}))[0];return r===void 0?null:{...At(r),input:V(r.input),output:V(r.output),error:U(r.error),deadlineAt:$(r.deadlineAt),parentId:r.parentId,steps:r.steps.map(En),attempts:r.attempts.map(Mn)}}async function On(t,e){let r=(await t.run(`select t.status, t.last_reason as "lastReason", t.cancel_reason as "cancelReason", p.output::text as output, p.error::text as error
     from foothold.tasks t join foothold.task_payloads p on p.task_id = t.id
     where t.id = $1`,[e],{doing:"reading the state of a task"}))[0];return r===void 0?null:fa(r)}function fa({status:t,lastReason:e,cancelReason:n,output:r,error:o}){switch(t){case"pending":case"processing":case"waiting":return{status:t};case"completed":return{status:t,output:V(r)};case"cancelled":return{status:t,reason:n??"cancelled"};case"dead_letter":return{status:t,reason:e??"step_failed",error:U(o)??ma(e)}}}function ma(t){return{code:"UNKNOWN",message:`No error was stored (${t??"no reason"}).`}}async function Dn(t,e,n){let r=await t.run("select id, status from foothold.tasks where id = any($1::uuid[])",[e],n);return new Map(r.map(o=>[o.id,o.status]))}async function Rn(t){return(await t.run(`select id, release, status, handlers, concurrency, running, started_at as "startedAt", last_heartbeat_at as "lastHeartbeatAt"
     from foothold.workers order by started_at desc, id limit ${ca}`,[],{doing:"listing workers"})).map($n)}async function Qe(t){return(await t.run("select distinct name from foothold.agents order by name",[],{doing:"listing agents"})).map(n=>n.name)}async function Pn(t,e){if((await t.run(`select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as "isWritable"`,[],e))[0]?.isWritable!==!0)throw new f("DATABASE_UNAVAILABLE",{doing:`${e.doing}: it is read-only`,waitedMs:0})}function v(t,e,n){if(typeof e!="object"||e===null)throw new f("INVALID_ARGUMENT",{field:t,problem:"it is not an object"});let r=Object.keys(e).find(o=>!n.includes(o));if(r!==void 0)throw new f("INVALID_ARGUMENT",{field:`${t}.${r.slice(0,100)}`,problem:"there is no such option",cure:`Known: ${n.join(", ")}.`})}function xt(t,e){if(!(e instanceof Date&&!Number.isNaN(e.getTime())))throw new f("INVALID_ARGUMENT",{field:t,problem:`${xe(e)} is not a valid Date`})}function Ae(t,e,{min:n,max:r}){if(!(typeof e=="number"&&Number.isInteger(e)&&e>=n&&e<=r))throw new f("INVALID_ARGUMENT",{field:t,problem:`${xe(e)} is not a whole number from ${n} to ${r}`})}function ae(t,e,n){if(!(typeof e=="string"&&n.includes(e)))throw new f("INVALID_ARGUMENT",{field:t,problem:`${xe(e)} is none of ${n.join(", ")}`})}function Ze(t,e){if(typeof e!="string")throw new f("INVALID_ARGUMENT",{field:t,problem:`a ${typeof e} is not a string`})}function xe(t){return typeof t=="string"?JSON.stringify(t.slice(0,100)):typeof t=="object"&&t!==null?"an object":String(t)}var pa=10,ha=500;function et(t){let e=new Set,n=new AbortController,r,o=Number.POSITIVE_INFINITY,s=!1,a=()=>{if(clearTimeout(r),o=Number.POSITIVE_INFINITY,!(s||e.size===0)){for(let l of e)o=Math.min(o,l.dueAt);r=setTimeout(()=>{i()},Math.max(0,o-performance.now()))}},i=async()=>{let l=performance.now()+pa,d=[...e].filter(u=>u.dueAt<=l).slice(0,ha);if(d.length===0)return a();s=!0;try{let u=await t(d.map(c=>c.request),n.signal);for(let[c,m]of d.entries())m.resolve(u[c])}catch(u){for(let c of d)c.reject(u)}finally{s=!1,a()}};return{ask(l,d,u){return new Promise((c,m)=>{if(n.signal.aborted)return m(new f("CLOSED",{}));if(u?.aborted===!0)return m(u.reason);let h=()=>{e.delete(p),u?.removeEventListener("abort",y)},p={request:l,dueAt:performance.now()+d,resolve(g){h(),c(g)},reject(g){h(),m(g)}},y=()=>{p.reject(u?.reason),e.size===0&&a()};u?.addEventListener("abort",y,{once:!0}),e.add(p),!s&&p.dueAt<o&&a()})},close(){n.abort(new f("CLOSED",{})),clearTimeout(r);for(let l of e)l.reject(n.signal.reason)}}}import{randomBytes as ya}from"node:crypto";var ga=4095,wa=2047,tt=0,Ee=0;function nt(t=Date.now()){let e=ya(16);t>tt?(tt=t,Ee=e.readUInt16BE(6)&wa):Ee<ga?Ee+=1:(tt+=1,Ee=0),e.writeUIntBE(tt,0,6),e.writeUInt16BE(28672|Ee,6),e[8]=128|e[8]&63;let n=e.toString("hex");return`${n.slice(0,8)}-${n.slice(8,12)}-${n.slice(12,16)}-${n.slice(16,20)}-${n.slice(20)}`}var ka=/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;function I(t){if(typeof t!="string")return null;let e=t.toLowerCase();return ka.test(e)?e:null}async function Nn(t,e,n){return(await t.run(`update foothold.tasks set
       cancel_requested_at = coalesce(cancel_requested_at, foothold.clock()),
       cancel_reason = coalesce(cancel_reason, $2),
       wake_seq = wake_seq + 1,
       status = case when status = 'processing' then status else 'cancelled' end,
       last_reason = case when status = 'processing' then last_reason else 'cancelled' end,
       finished_at = case when status = 'processing' then null else foothold.clock() end,
       wake_at = null, waiting_for = null
     where id = $1 and status in ('pending', 'processing', 'waiting', 'dead_letter')
     returning status`,[e,n],{doing:"cancelling a task"}))[0]??null}async function Ln(t,e){return(await t.run("select status, attempt from foothold.tasks where id = $1",[e],{doing:"reading the state of a task"}))[0]??null}var Cn=`
  status = 'pending', crash_count = 0, crashes_total = 0, retry_count = 0, suspect = false,
  deadline_at = case when deadline_ms is null then deadline_at end,
  wake_at = null, waiting_for = null, finished_at = null, cancel_requested_at = null, cancel_reason = null`,Fn="tries = 0, retryable = true, due_at = null";async function jn(t,e,n){return(await t.run(`with t as (
       update foothold.tasks set ${Cn}
       where id = $1 and status = 'dead_letter' and attempt = $2 returning id, handler),
     s as (update foothold.agent_steps s set ${Fn} from t where s.task_id = t.id and s.status = 'failed'),
     p as (update foothold.task_payloads p set error = null from t where p.task_id = t.id)
     select handler from t`,[e,n],{doing:"resuming a task"}))[0]??null}async function Un(t,e,n){return t.run(`select s.key, s.kind, s.status, coalesce(s.started_at >= f.started_at, false) as "isForgotten"
     from foothold.agent_steps s left join foothold.agent_steps f on f.task_id = s.task_id and f.key = $2
     where s.task_id = $1 order by s.started_at, s.key`,[e,n],{doing:"reading the steps of a task"})}async function Wn(t,e,n,r){return(await t.run(`with t as (
       update foothold.tasks set ${Cn}
       where id = $1 and status in ('dead_letter', 'completed', 'cancelled') and attempt = $2 returning id, handler),
     d as (delete from foothold.agent_steps s using t where s.task_id = t.id and s.key = any($3::text[])),
     s as (
       update foothold.agent_steps s set ${Fn} from t
       where s.task_id = t.id and s.status = 'failed' and s.key <> all($3::text[])),
     g as (update foothold.signals g set consumed_by = null from t where g.task_id = t.id and g.consumed_by = any($3::text[])),
     c as (delete from foothold.stream_chunks c using t where c.task_id = t.id and c.key = any($3::text[])),
     p as (update foothold.task_payloads p set output = null, error = null from t where p.task_id = t.id)
     select handler from t`,[e,n,r],{doing:"restarting a task"}))[0]??null}async function Et(t,e,n){return(await t.run(`select t.status, t.waiting_for as "waitingFor",
       (select json_build_object('kind', s.kind, 'status', s.status, 'refusals', s.refusals, 'output', s.output::text)
        from foothold.agent_steps s where s.task_id = t.id and s.key = $2) as step,
       array(select s.key from foothold.agent_steps s where s.task_id = t.id order by s.started_at, s.key) as keys
     from foothold.tasks t where t.id = $1`,[e,n],{doing:"reading an effect"}))[0]??null}async function qn(t,e){return(await t.run(`with t as materialized (
       select id from foothold.tasks where id = $1 and status = 'waiting' and waiting_for = 'person' for no key update),
     s as (
       update foothold.agent_steps s set
         status = case when $3::json is null then 'failed' else 'completed' end,
         output = $3::json, error = $4::json, worker_id = $5, retryable = true, due_at = null, doubt_until = null,
         tries = case when $3::json is null then 0 else s.tries end,
         refusals = s.refusals + ($3::json is null)::int, finished_at = foothold.clock()
       from t where s.task_id = t.id and s.key = $2 and s.kind = 'effect' and s.status in ('unknown', 'intent')
       returning s.task_id)
     update foothold.tasks t set status = 'pending', wake_seq = wake_seq + 1, wake_at = null, waiting_for = null
     from s where t.id = s.task_id
     returning t.handler`,[e.taskId,e.key,e.output,e.error,e.decidedBy],{doing:"storing a decision"}))[0]??null}var ba=500;async function rt(t,e,n){v("options",n,["reason"]);let{reason:r="cancelled"}=n;Ze("options.reason",r);let o=ie(e),s=await Nn(t,o,M(r,ba));if(s!==null)return{outcome:s.status==="processing"?"requested":"cancelled",status:s.status};let{status:a}=await ve(t,o);return{outcome:"already_ended",status:a==="cancelled"?"cancelled":"completed"}}async function Hn({db:t,notifier:e},n){let r=ie(n),o=await ve(t,r);if(o.status==="dead_letter"){let s=await jn(t,r,o.attempt);if(s!==null)return e.notify(s.handler);let a=await ve(t,r);if(Vn(o,a))return;throw W(r,a.status,"only a dead letter can be resumed")}throw W(r,o.status,"only a dead letter can be resumed")}async function Gn({db:t,notifier:e},n,r){v("options",r,["from"]),T("options.from",r.from);let o=ie(n),s=await ve(t,o),a="only a task that has ended can be restarted; cancel it first";if(s.status!=="dead_letter"&&s.status!=="completed"&&s.status!=="cancelled")throw W(o,s.status,a);let i=await Un(t,o,r.from),l=i.filter(m=>m.isForgotten);if(l.length===0)throw new f("STEP_NOT_FOUND",{taskId:o,key:r.from,known:i.map(m=>m.key)});let d=l.map(m=>m.key),u=await Wn(t,o,s.attempt,d);if(u===null){let m=await ve(t,o);if(!Vn(s,m))throw W(o,m.status,a)}else e.notify(u.handler);let c=l.filter(m=>m.kind==="effect"&&m.status!=="failed");return{forgotten:d,repeatedEffects:c.map(m=>m.key)}}async function Kn({db:t,notifier:e},n,r,o){T("key",r),v("decision",o,["outcome","result","by"]),ae("decision.outcome",o.outcome,["done","not_done"]),T("decision.by",o.by);let s=ie(n),a=o.outcome==="done"?A(o.result,"decision.result"):null,i=await Sa(t,s,r),l=a===null?A({code:"DECIDED_NOT_DONE",message:`${o.by} decided: it did not happen.`,reason:"effect_unknown"},"decision"):null,d=await qn(t,{taskId:s,key:r,output:a,error:l,decidedBy:`person:${o.by}`});if(d!==null)return e.notify(d.handler);let u=await Et(t,s,r);if(!(a===null?(u?.step?.refusals??0)>i.refusals:u?.step?.status==="completed"&&u.step.output===a))throw W(s,u?.status??"gone",`effect ${JSON.stringify(r)} has been decided otherwise`)}async function Sa(t,e,n){let r=await Et(t,e,n);if(r===null)throw new f("TASK_NOT_FOUND",{taskId:e});let{step:o,keys:s,status:a,waitingFor:i}=r;if(o===null)throw new f("STEP_NOT_FOUND",{taskId:e,key:n,known:s});if(a!=="waiting"||i!=="person")throw W(e,a,"only a task that waits for a person takes a decision");if(o.kind!=="effect"||o.status!=="unknown"&&o.status!=="intent")throw W(e,a,`step ${JSON.stringify(n)} is a ${o.kind} and ${o.status}, not an effect in doubt`);return o}function Vn(t,e){return e.attempt>t.attempt||e.status==="pending"}function ie(t){let e=I(t);if(e===null)throw new f("TASK_NOT_FOUND",{taskId:t});return e}async function ve(t,e){let n=await Ln(t,e);if(n===null)throw new f("TASK_NOT_FOUND",{taskId:e});return n}function W(t,e,n){return new f("TASK_STATE_CONFLICT",{taskId:t,status:e,wanted:n})}var Me="$started";async function Bn(t,e,n){let r=await t.run(`select t.id, t.status, coalesce(case when t.status = 'cancelled' then t.cancel_reason end, t.last_reason) as reason, t.attempt, t.worker_id as "workerId",
       coalesce((select json_agg(json_build_object('key', s.key, 'status', s.status, 'tries', s.tries, 'attempt', s.attempt, 'error', s.error::text)
                                 order by s.started_at, s.key)
                 from foothold.agent_steps s where s.task_id = t.id), '[]') as steps,
       coalesce((select json_agg(json_build_object('id', c.id::text, 'key', c.key, 'attempt', c.attempt, 'tries', c.tries,
                                                   'channel', c.channel, 'chunk', c.chunk::text) order by c.id)
                 from (select * from foothold.stream_chunks n where n.task_id = t.id and n.id > w.after
                       order by n.id limit 500) c), '[]') as chunks
     from unnest($1::uuid[], $2::bigint[]) w(id, after) join foothold.tasks t on t.id = w.id`,[[...e.keys()],[...e.values()].map(String)],n);return new Map(r.map(o=>[o.id,{...o,isMore:o.chunks.length===500}]))}async function zn(t,e,n,r){return t.run(`select distinct on (key) key, attempt, tries, bool_or(channel <> '${Me}') as "hasChunks"
     from foothold.stream_chunks where task_id = $1 and id <= $2::bigint
     group by key, attempt, tries order by key, attempt desc, tries desc`,[e,String(n)],r)}function vt(t){return t==="completed"||t==="cancelled"||t==="dead_letter"}function Xn(t=new Map){let e=new Map(t),n=new Map,r="",o=!0,s=l=>{let{reason:d,attempt:u,workerId:c}=l,m=`${l.status} ${u} ${c} ${d}`;return m===r?[]:(r=m,[{type:"status",status:l.status,reason:d,attempt:u,workerId:c}])},a=l=>{let{key:d,tries:u,attempt:c,error:m}=l,h=`${l.status} ${c} ${u}`;return h===n.get(d)?[]:(n.set(d,h),[{type:"step",key:d,status:l.status,tries:u,attempt:c,error:m}])},i=(l,d,u)=>{let{key:c,attempt:m,tries:h}=l,p=e.get(c),y=p===void 0?1:m-p.attempt||h-p.tries;if(y<0)return[];let g=[];return u?.status==="failed"&&(u.attempt-m||u.tries-h)<0&&g.push(...a(u)),y>0&&p?.hasChunks===!0&&g.push({type:"superseded",key:c,cursor:l.isStart?l.id:String(BigInt(l.id)-1n)}),e.set(c,{attempt:m,tries:h,hasChunks:!l.isStart||y===0&&p?.hasChunks===!0}),l.isStart?Jn(l,d,u)&&g.push({type:"step",key:c,status:"running",tries:h,attempt:m,error:null}):g.push({type:"chunk",key:c,channel:l.channel,text:S(l.chunk),attempt:m,cursor:l.id}),g};return{next(l){let d=new Map(l.steps.map(m=>[m.key,m])),u=vt(l.status),c=u?[]:s(l);if(o){c.push(...l.steps.flatMap(a));for(let[m,{attempt:h,tries:p}]of e)Jn({attempt:h,tries:p},l,d.get(m))&&c.push({type:"step",key:m,status:"running",tries:p,attempt:h,error:null});o=!1}for(let m of l.chunks)c.push(...i(m,l,d.get(m.key)));return l.isMore?{events:c,isEnded:!1}:(c.push(...l.steps.flatMap(a)),u&&c.push(...s(l)),{events:c,isEnded:u})}}}function Jn(t,e,n){return e.status!=="processing"||t.attempt!==e.attempt?!1:n===void 0||n.status==="intent"||n.status==="waiting"?!0:n.status==="failed"&&n.tries<t.tries}var Yn=100,Ta=1e3;function Qn(t){return et(async(e,n)=>{let r=new Map;for(let{id:s,after:a}of e){let i=r.get(s);(i===void 0||a<i)&&r.set(s,a)}let o=await Bn(t,r,{doing:"watching tasks",patienceMs:Number.POSITIVE_INFINITY,signal:n});return e.map(({id:s,after:a})=>{let i=o.get(s);return i===void 0?null:{...i,chunks:i.chunks.filter(l=>BigInt(l.id)>a)}})})}async function*Zn({db:t,hub:e},n,r){v("options",r,["after","signal"]);let{signal:o}=r,s=va(r.after),a=I(n);if(a===null)throw new f("TASK_NOT_FOUND",{taskId:n});let l=s===0n?[]:await zn(t,a,s,{doing:"watching a task"}),d=Xn(new Map(l.map(({key:c,...m})=>[c,m]))),u=0;for(;;){let c=await e.ask({id:a,after:s},u,o);if(c===null)throw new f("TASK_NOT_FOUND",{taskId:n});let m=c.chunks.at(-1);m!==void 0&&(s=BigInt(m.id));let{events:h,isEnded:p}=d.next(xa(c));for(let y of h)yield y,o?.throwIfAborted();if(p)return;u=Aa(c,h.length>0,u)}}function Aa(t,e,n){return t.isMore?0:t.status==="processing"||e?Yn:Math.min(Ta,Math.max(Yn,n*1.5))}function xa(t){return{...t,steps:t.steps.map(e=>({...e,error:U(e.error)})),chunks:t.chunks.map(e=>({...e,isStart:e.channel===Me}))}}var Ea=2n**63n-1n;function va(t){if(t===void 0)return 0n;if(typeof t=="string"&&/^\d{1,19}$/.test(t)&&BigInt(t)<=Ea)return BigInt(t);throw new f("INVALID_ARGUMENT",{field:"options.after",problem:`${xe(t)} is not a cursor`,cure:"Pass the `cursor` of an earlier event, or nothing to begin at the start."})}var Ma=25,$a=500;function er(t){return et(async(e,n)=>{let r=await Dn(t,[...new Set(e)],{doing:"waiting for results",patienceMs:Number.POSITIVE_INFINITY,signal:n});return e.map(o=>r.get(o)??null)})}function Mt({db:t,results:e,watches:n},{id:r,created:o}){return{id:r,created:o,state:()=>tr(t,r),result:(s={})=>Ia({db:t,results:e},r,s),watch:(s={})=>Zn({db:t,hub:n},r,s),cancel:(s={})=>rt(t,r,s)}}async function tr(t,e){let n=I(e),r=n===null?null:await On(t,n);if(r===null)throw new f("TASK_NOT_FOUND",{taskId:e});return r}async function Ia({db:t,results:e},n,r){v("options",r,["timeoutMs","signal"]);let{timeoutMs:o,signal:s}=r;o!==void 0&&Ae("options.timeoutMs",o,{min:0,max:2**31-1});let a=I(n);if(a===null)throw new f("TASK_NOT_FOUND",{taskId:n});let i=Oa(a,o,s);try{for(let l=0;;l=Math.min($a,Math.max(Ma,l*1.5))){let d=await e.ask(a,l,i.signal);if(d===null)throw new f("TASK_NOT_FOUND",{taskId:n});if(!vt(d))continue;let u=await tr(t,a);switch(u.status){case"completed":return u.output;case"cancelled":throw new f("TASK_CANCELLED",{taskId:n,reason:u.reason});case"dead_letter":throw new f("TASK_DEAD_LETTER",{taskId:n,reason:u.reason,message:u.error.message});case"pending":case"processing":case"waiting":continue}}}finally{i.end()}}function Oa(t,e,n){let r=new AbortController,o=()=>r.abort(n?.reason);n?.aborted===!0&&o(),n?.addEventListener("abort",o,{once:!0});let s=e===void 0?void 0:setTimeout(()=>r.abort(new f("RESULT_TIMEOUT",{taskId:t,timeoutMs:e})),e);return{signal:r.signal,end(){clearTimeout(s),n?.removeEventListener("abort",o)}}}var $e=["agent","tenant","release"];var Da=500;async function nr(t,e,n){let{kind:r,value:o}=or(e);v("options",n,["reason","by"]),n.reason!==void 0&&Ze("options.reason",n.reason),n.by!==void 0&&T("options.by",n.by);let s=n.reason===void 0?null:M(n.reason,Da),a=await dn(t,{kind:r,value:o,reason:s,by:n.by??null});return await sr(t),{...a,isKnown:await fn(t,r,o)}}async function rr(t,e){let{kind:n,value:r}=or(e);await mn(t,n,r);let o=await un(t,n,r);return await sr(t),{wasPaused:o}}function or(t){v("target",t,$e);let e=$e.filter(o=>t[o]!==void 0),[n]=e;if(n===void 0||e.length>1)throw new f("INVALID_ARGUMENT",{field:"target",problem:`${e.length} of ${$e.join(", ")} are given`,cure:"Give exactly one."});let r=t[n];return n==="agent"?O("target.agent",r):T(`target.${n}`,r),{kind:n,value:r}}async function sr(t){try{await gn(t,{doing:"announcing a pause",patienceMs:0})}catch{}}var Ra=50,Pa=200,Na=5e3;async function ar(t,e){v("filter",e,["status","agent","tenant","cursor","limit"]);let{status:n,agent:r,tenant:o,cursor:s,limit:a=Ra}=e;n!==void 0&&ae("filter.status",n,St),r!==void 0&&La(r),o!==void 0&&T("filter.tenant",o),Ae("filter.limit",a,{min:1,max:Pa});let i=s===void 0?null:I(s);if(s!==void 0&&i===null)throw new f("INVALID_ARGUMENT",{field:"filter.cursor",problem:"it is not a cursor",cure:"Pass the nextCursor of the page before."});let l=await In(t,{status:n??null,agent:r??null,tenant:o??null,before:i,limit:a+1}),d=l.slice(0,a);return{items:d,nextCursor:l.length>a?d.at(-1)?.id??null:null}}function La(t){O("filter.agent",typeof t=="string"?t.replace(/\/dead_letter$/,""):t)}async function ir(t,e){v("options",e,["timeoutMs"]);let{timeoutMs:n=Na}=e;Ae("options.timeoutMs",n,{min:1,max:6e5});let r="checking that it takes writes",o,s=new Promise((a,i)=>{o=setTimeout(()=>i(new f("DATABASE_UNAVAILABLE",{doing:r,waitedMs:n})),n)});try{await Promise.race([Pn(t,{doing:r,patienceMs:n}),s])}finally{clearTimeout(o)}}async function le(t,e){let n=await t["~standard"].validate(e);return n.issues===void 0?{kind:"valid",value:n.value}:{kind:"invalid",issues:n.issues.slice(0,20).map(({path:o,message:s})=>({path:Ca(o),message:s}))}}function Ca(t=[]){return t.map(e=>typeof e=="object"?e.key:e).map((e,n)=>typeof e=="number"?`[${e}]`:`${n===0?"":"."}${String(e)}`).join("")}async function lr(t,e){return(await t.run(`with t as (
       update foothold.tasks set wake_seq = wake_seq + 1,
         status = case when status = 'waiting' and waiting_for is distinct from 'start' then 'pending' else status end,
         wake_at = case when waiting_for = 'start' then wake_at end,
         waiting_for = case when waiting_for = 'start' then waiting_for end
       where id = $1 and status in ('pending', 'processing', 'waiting', 'dead_letter')
       returning id, handler, status),
     s as (
       insert into foothold.signals (task_id, name, payload, dedupe_key, created_at)
       select t.id, $2, $3::json, $4, foothold.clock() from t
       on conflict (task_id, name, dedupe_key) do nothing)
     select t.handler, t.status = 'pending' as "isPending" from t`,[e.taskId,e.name,e.payload,e.dedupeKey],{doing:"sending a signal"}))[0]??null}async function dr(t,{taskId:e,name:n,dedupeKey:r}){return(await t.run(`select t.status, exists (select 1 from foothold.signals s where s.task_id = t.id and s.name = $2 and s.dedupe_key = $3) as "isStored"
     from foothold.tasks t where t.id = $1`,[e,n,r],{doing:"sending a signal"}))[0]??null}async function ur({db:t,notifier:e},n,r,o,s){v("options",s,["dedupeKey"]),s.dedupeKey!==void 0&&T("options.dedupeKey",s.dedupeKey),O("signal.name",r.name);let a=ie(n),i=await le(r.schema,o);if(i.kind==="invalid")throw new f("INVALID_ARGUMENT",{field:"payload",problem:`it does not fit signal ${r.name}: ${i.issues.map(c=>c.path===""?c.message:`${c.path}: ${c.message}`).join("; ")}`});let l={taskId:a,name:r.name,payload:A(i.value,"payload"),dedupeKey:s.dedupeKey??`once:${nt()}`},d=await lr(t,l);if(d!==null){d.isPending&&e.notify(d.handler);return}let u=await dr(t,l);if(u===null)throw new f("TASK_NOT_FOUND",{taskId:n});if(!u.isStored)throw W(a,u.status,"a task that has ended takes no signal")}import{createHash as Ua}from"node:crypto";function Ie(t){return JSON.stringify($t(JSON.parse(Ve(t))))}function $t(t){if(typeof t!="object"||t===null)return t;if(Array.isArray(t))return t.map($t);let e=Object.entries(t).sort(([n],[r])=>n<r?-1:1);return Object.fromEntries(e.map(([n,r])=>[n,$t(r)]))}var cr=t=>`
  with at as materialized (select foothold.clock() as now),
  d as (
    insert into foothold.dedupe as k (agent, tenant, key, task_id, body_hash, expires_at)
    select $2::text, $4::text, $5::text, $1::uuid, $6::text, at.now + interval '30 days' from at where $5::text is not null
    on conflict (agent, tenant, key) do ${t}
    returning 1),
  t as (
    insert into foothold.tasks (id, agent, handler, tenant, status, waiting_for, wake_at, priority, run_at, input_checked,
      deadline_ms, deadline_at, created_at)
    select $1::uuid, $2::text, $3::text, $4::text,
      case when $10::timestamptz > at.now then 'waiting' else 'pending' end,
      case when $10::timestamptz > at.now then 'start' end,
      case when $10::timestamptz > at.now then $10::timestamptz end,
      $7::smallint, greatest($10::timestamptz, at.now), $9::boolean, $11::int, $12::timestamptz, at.now
    from at where $5::text is null or exists (select 1 from d)
    on conflict (id) do nothing
    returning id, status),
  p as (insert into foothold.task_payloads (task_id, input) select t.id, $8::json from t)
  select t.status from t`,Fa=cr("nothing"),ja=cr("update set task_id = excluded.task_id, body_hash = excluded.body_hash, expires_at = excluded.expires_at where k.expires_at <= foothold.clock()");async function fr(t,e,n){let{rows:r}=await t.query(n.replaceExpiredKey?ja:Fa,[e.id,e.agent,e.handler,e.tenant,e.dedupe?.key??null,e.dedupe?.bodyHash??null,e.priority,e.input,e.isInputChecked,e.runAt?.toISOString()??null,"afterMs"in e.deadline?e.deadline.afterMs:null,"at"in e.deadline?e.deadline.at.toISOString():null]);return r[0]?.status??"nothing"}async function mr(t,{agent:e,tenant:n,key:r}){let{rows:o}=await t.query(`select task_id as "taskId", body_hash as "bodyHash", expires_at <= foothold.clock() as "isExpired"
     from foothold.dedupe where agent = $1 and tenant = $2 and key = $3`,[e,n,r]);return o[0]??null}async function pr(t,e){let{rows:n}=await t.query('select handler, deadline_ms as "deadlineMs" from foothold.agents where name = $1 order by version desc limit 1',[e]);return n[0]??null}function hr(t,e){return{async query(n,r=[]){let o=await t.run(n,r,{doing:e});return{rows:o,rowCount:o.length}}}}var Wa=["dedupeKey","priority","tenant","runAt","deadlineAt","transaction"],yr=2**31-1,qa=3;async function gr({db:t,notifier:e,meter:n},r,o,s={}){Ha(s);let a=s.transaction??hr(t,"submitting a task"),i=await Ga(r,a,t),l=await Ka(i,o),{deadlineAt:d,dedupeKey:u,runAt:c,tenant:m="",priority:h="normal"}=s,p={id:nt(),agent:i.name,handler:i.handler,tenant:m,dedupe:u===void 0?null:{key:u,bodyHash:Va(o,l)},priority:se.indexOf(h),input:l,isInputChecked:i.code!==null,runAt:c??null,deadline:d===void 0?{afterMs:i.deadlineMs}:{at:d}},y=await Ba(a,p);return y.created&&n.submitted(i.name),y.created&&s.transaction===void 0&&e.notify(p.handler),y}function Ha(t){v("options",t,Wa);let{dedupeKey:e,priority:n,tenant:r,runAt:o,deadlineAt:s,transaction:a}=t;if(e!==void 0&&T("options.dedupeKey",e),r!==void 0&&T("options.tenant",r),n!==void 0&&ae("options.priority",n,se),o!==void 0&&xt("options.runAt",o),s!==void 0&&xt("options.deadlineAt",s),o!==void 0&&s!==void 0&&s<=o)throw new f("INVALID_ARGUMENT",{field:"options.deadlineAt",problem:`${s.toISOString()} is not after runAt, ${o.toISOString()}`});if(a!==void 0&&typeof a.query!="function")throw new f("INVALID_ARGUMENT",{field:"options.transaction",problem:"it has no method query(text, values)",cure:"Pass the client on which BEGIN was sent."})}async function Ga(t,e,n){if(typeof t=="object"&&t!==null&&"~code"in t){let{name:s,version:a,"~code":i}=t;if(!(i.deadlineMs>=1&&i.deadlineMs<=yr))throw new f("INVALID_ARGUMENT",{field:"agent.deadlineMs",problem:`${i.deadlineMs} is not between 1 and ${yr}`,cure:"Give submit() a deadlineAt for a longer time."});return{name:s,handler:`${s}@${a}`,deadlineMs:Math.ceil(i.deadlineMs),code:i}}let r=typeof t=="string"?t:t?.name;O("agent",r);let o=await pr(e,r);if(o===null)throw new f("AGENT_UNKNOWN",{agent:r,known:await Qe(n)});return{name:r,...o,code:null}}async function Ka({name:t,code:e},n){if(e===null)return A(n,"input");let r=await le(e.input,n);if(r.kind==="invalid")throw new f("INPUT_INVALID",{agent:t,issues:r.issues});return A(r.value,"input")}function Va(t,e){let n=e;try{n=A(t,"input")}catch(r){if(!b(r))throw r}return Ua("sha256").update(Ie(n)).digest("hex")}async function Ba(t,e){let n=e.id;for(let r=0;r<qa;r+=1){if(await fr(t,e,{replaceExpiredKey:r>0})!=="nothing"||e.dedupe===null)return{id:n,created:!0};let s=await mr(t,{agent:e.agent,tenant:e.tenant,key:e.dedupe.key});if(!(s===null||s.isExpired)){if(s.taskId===n)return{id:n,created:!0};if(s.bodyHash===e.dedupe.bodyHash)return{id:s.taskId,created:!1};throw new f("DEDUPE_CONFLICT",{dedupeKey:e.dedupe.key,taskId:s.taskId})}}throw new f("DATABASE_UNAVAILABLE",{doing:"submitting a task whose dedupe key kept expiring",waitedMs:0})}function de(t){return/^[\p{L}\p{N}_.:@%+,/-]+$/u.test(t)&&!t.startsWith("-")?t:`'${t.replaceAll("'","'\\''")}'`}function B(t){let e=Math.abs(t),n=za(e);return t<0?`-${n}`:n}function za(t){return t<1e3?`${Math.round(t)} ms`:t<6e4?`${Math.floor(t/1e3)} s`:t<36e5?`${Math.floor(t/6e4)} min`:t<864e5?wr(Math.floor(t/36e5),"h",Math.floor(t%36e5/6e4),"min"):wr(Math.floor(t/864e5),"d",Math.floor(t%864e5/36e5),"h")}function wr(t,e,n,r){return n===0?`${t} ${e}`:`${t} ${e} ${n} ${r}`}function q(t,e){let n=t.getTime()-e.getTime();return n>0?`in ${B(n)}`:`${B(-n)} ago`}function ot({kind:t,value:e,since:n,reason:r,by:o},s){let a=[r,o===null?null:`(${o})`].filter(l=>l!==null).join(" "),i=B(Math.max(0,s.getTime()-n.getTime()));return`${t} ${e} has been paused for ${i}${a===""?"":`: ${a}`}`}var Oe=["completed","graceful_shutdown","paused","orphaned","lease_lost","cancelled","timeout","deadline","budget","step_failed","code_changed","input_invalid","effect_unknown","effect_request_changed","database_error","database_unavailable","llm_unavailable","llm_rate_limited","llm_unauthorized","llm_incomplete","llm_refused","crm_unavailable","crm_rejected","retrieval_timeout"];function st(t){return t.endsWith("_unavailable")||t==="llm_rate_limited"}var Ja={completed:"it was completed",graceful_shutdown:"its worker was shut down and handed it over, free of charge",paused:"it was handed over because of a pause, free of charge",orphaned:"its worker was lost",lease_lost:"its worker was taken for lost",cancelled:"it was cancelled",timeout:"a step took longer than its limit",deadline:"it did not end before its deadline",budget:"a limit of tokens or money was used up",step_failed:"a step failed",code_changed:"the code changed under it: stored steps do not fit the code that ran",input_invalid:"its input does not fit the agent",effect_unknown:"nobody could know whether an effect had happened",effect_request_changed:"an effect was asked for in another form than it had been sent",database_error:"the database refused what had to be stored",database_unavailable:"the database was away",llm_unavailable:"the model was unavailable",llm_rate_limited:"the model asked for fewer calls",llm_unauthorized:"the model refused the credentials",llm_incomplete:"the model broke off in the middle of its answer",llm_refused:"the model refused to answer",crm_unavailable:"the CRM was unavailable",crm_rejected:"the CRM rejected the request",retrieval_timeout:"the search for context took too long"};function It(t){return Oe.includes(t)?Ja[t]:t}function _r(t,e){switch(t.status){case"pending":return Xa(t,e);case"processing":return Qa(t,e);case"waiting":return Za(t,e);case"completed":return`attempt ${t.attempt} brought it to its end`;case"cancelled":return e.cancelReason===null||e.cancelReason==="cancelled"?"it was cancelled":`it was cancelled: ${e.cancelReason}`;case"dead_letter":return ti(t,e)}}function Xa(t,e){let n=t.lastReason===null?"":`; before that, ${It(t.lastReason)}`,[r]=e.pauses;if(r!==void 0)return`${ot(r,e.now)}${n}`;if(e.liveWorkersInAll===0)return`no worker is alive that could run it${n}`;if(e.liveWorkers===0&&e.pausedReleases.length>0)return`every live worker that has ${e.handler} is of a paused release: ${e.pausedReleases.join(", ")}${n}`;if(e.liveWorkers===0)return`no live worker has the handler ${e.handler}${n}`;if(e.isSuspect)return`it has cost workers their life, so it runs only where nothing else runs${n}`;let o=e.tasksBefore===0?"nothing stands before it":`${e.tasksBefore} stand before it`,s=e.freeSlots===0?"all slots are taken":`${e.freeSlots} slots are free`;return`it is about to be claimed: ${Ya(e.liveWorkers)} can run it, ${s}, ${o}${n}`}function Ya(t){return t===1?"1 live worker":`${t} live workers`}function Qa(t,e){let n=t.workerId??"nobody";if(e.worker===null)return`its worker ${n} is not registered; the next sweep of any worker returns it`;if(e.worker.status==="lost"||e.worker.status==="stopped")return`its worker ${n} is ${e.worker.status}; the next sweep of any worker returns it`;let r=q(e.worker.lastHeartbeatAt,e.now);if(!e.worker.isLeaseGood)return`its worker ${n} gave its last sign of life ${r}; another worker will declare it lost`;let o=e.begun.filter(({isInThisAttempt:d})=>d).map(({key:d})=>d),s=o.length===0?"between steps, or in one that has just begun":`in ${o.join(", ")}`,a=t.cancelRequestedAt===null?"":`; its cancelling was asked for ${q(t.cancelRequestedAt,e.now)}`,[i]=e.pauses,l=i===void 0?"":`; ${ot(i,e.now)}: it is handed over after its current step`;return`worker ${n} is at it, ${s}; its heartbeat came ${r}${a}${l}`}function Za(t,e){let n=t.wakeAt===null?"":ei(t.wakeAt,e.now);switch(t.waitingFor??""){case"pause":{let[r]=e.pauses;return r===void 0?"its pause is over; any worker puts it back":ot(r,e.now)}case"start":return`it is not to start before ${e.runAt.toISOString()}${n}`;case"retry":return`${br(t,e)??"a step failed"}; it is tried again${n}`;case"sleep":return`it sleeps in ${kr(t)}${n}`;case"signal":{let r=e.unconsumedSignals,o=r.length===0?"none has come":`unused so far: ${r.join(", ")}`;return`it waits for a signal in ${kr(t)}${n}; ${o}`}case"person":return`nobody can know whether ${Ot(t).join(", ")} happened: a person must look at the receiver and decide`;default:return`it waits for ${t.waitingFor??"nothing that anybody knows"}${n}`}}function ei(t,e){let n=e.getTime()-t.getTime();return n>0?`, due for ${B(n)} now`:`, ${q(t,e)}`}function ti(t,e){let n=It(t.lastReason??"step_failed");if(t.lastReason==="orphaned"){let r=`${e.crashesTotal} ${e.crashesTotal===1?"crash":"crashes"} in all`;return`${n} again and again while running it (${r}): ${t.error?.message??""}`}return`${n}: ${br(t,e)??"no error was stored"}`}function br(t,{failedStep:e}){let n=t.steps.filter(a=>a.error!==null&&(a.status==="failed"||a.status==="intent")),r=t.status==="dead_letter",o=n.findLast(({key:a,error:i})=>r?a===e||i?.message===t.error?.message:!0),s=(o?.error??t.error)?.message;return s===void 0?null:o===void 0?s:`${ni(o)}: ${s}`}function ni(t){return t.kind==="run"?"the code between the steps":`step ${JSON.stringify(t.key)}`}function kr(t){let e=t.steps.filter(n=>n.status==="waiting").map(n=>JSON.stringify(n.key));return e.length===0?"no stored step":e.join(", ")}function Ot(t){let e=t.steps.filter(r=>r.kind==="effect"),n=e.filter(r=>r.status==="unknown");return(n.length>0?n:e.filter(r=>r.status==="intent")).map(r=>r.key)}function Tr(t,e,n){let{id:r}=t;switch(t.status){case"pending":return e.pauses.length>0?Sr(e):e.liveWorkers===0&&e.pausedReleases.length>0?e.pausedReleases.map(o=>`foothold unpause --release ${de(o)}`):e.liveWorkers>0?[`foothold tasks watch ${r}`]:[`foothold worker <module with ${e.handler}>`,"foothold workers"];case"processing":return[`foothold tasks watch ${r}`];case"waiting":return t.waitingFor==="pause"?Sr(e):t.waitingFor!=="person"?[`foothold tasks watch ${r}`]:Ot(t).flatMap(o=>[`foothold decide ${r} ${de(o)} --done '<what it returned, as JSON>' --by <you>`,`foothold decide ${r} ${de(o)} --not-done --by <you>`]);case"completed":return[`foothold tasks show ${r}`];case"cancelled":return Ar(t);case"dead_letter":return ri(t,n)}}function Sr({pauses:t}){return t.map(({kind:e,value:n})=>`foothold unpause --${e} ${de(n)}`)}function ri(t,e){let n=`foothold tasks resume ${t.id}`;if(e!=="in_vain")return[n];switch(t.lastReason??""){case"code_changed":case"effect_request_changed":return[...Ar(t),n];default:return[`foothold tasks cancel ${t.id}`]}}function Ar(t){let e=t.steps.find(n=>n.status!=="completed")??t.steps[0];return e===void 0?[`foothold tasks show ${t.id}`]:[`foothold tasks restart ${t.id} --from ${de(e.key)}`]}var oi="unlabelled";function Er(t,e){let n=t.attempts.filter(si),r=n.at(-1);if(r===void 0)return{kind:"no_failure"};let o=new Map(e.ofAttempts.map(({attempt:c,release:m})=>[c,m])),s=o.get(r.attempt);if(s===void 0||s===oi)return{kind:"unknown",release:null};let a=e.successes.find(c=>c.release===s);if(a!==void 0)return{kind:"unlikely",release:s,lastSuccessAt:a.lastAt,also:null};let i=Dt(e,s),d=n.flatMap(({attempt:c})=>o.get(c)??[]).filter(c=>c!==s).find(c=>xr(Dt(e,c),i));if(d!==void 0)return{kind:"unlikely",release:s,lastSuccessAt:null,also:d};let u=e.successes.filter(c=>xr(Dt(e,c.release),i)).toSorted((c,m)=>m.lastAt.getTime()-c.lastAt.getTime())[0];return u===void 0||i===null?{kind:"unknown",release:s}:{kind:"perhaps",release:s,since:i,before:{release:u.release,lastSuccessAt:u.lastAt}}}function si({outcome:t,reason:e}){return t==="dead_letter"||t==="orphaned"||t==="waiting"&&e!==null}function Dt({firstSeen:t},e){return t.find(n=>n.release===e)?.at??null}function xr(t,e){return t!==null&&e!==null&&t<e}function vr(t,e){let n=ai(t,e);if(n==="never"||Mr(t,e))return{goesOn:n,repeats:[],leftInDoubt:[]};let r=new Map(e.steps.map(d=>[d.key,d])),o=n==="in_vain"?t.steps.find(({key:d})=>d===e.failedStep):void 0,s=d=>o===void 0||d<o.startedAt,a=t.steps.filter(d=>s(d.startedAt)).map(d=>li(d,r.get(d.key),t,e.now)),i=new Set(t.steps.map(d=>d.key)),l=e.begun.filter(({key:d,at:u})=>!i.has(d)&&s(u)).map(({key:d})=>d);return{goesOn:n,repeats:[...a.flatMap(d=>d!==null&&"because"in d?[d]:[]),...l.map(d=>({step:d,kind:"step",because:"unfinished",does:"run",tries:1,error:null}))],leftInDoubt:a.flatMap(d=>d!==null&&!("because"in d)?[d]:[])}}function ai(t,e){switch(t.status){case"pending":case"processing":case"waiting":return"by_itself";case"completed":case"cancelled":return"never";case"dead_letter":return ii(t)||Mr(t,e)?"in_vain":"by_resume"}}function ii({lastReason:t}){return t==="input_invalid"||t==="code_changed"||t==="effect_request_changed"}function Mr(t,{isDeadlineFixed:e,now:n}){return t.status!=="dead_letter"?!1:t.lastReason==="input_invalid"||e&&t.deadlineAt!==null&&t.deadlineAt<=n}function li(t,e,n,r){let{key:o,kind:s,tries:a}=t,i=(l,d)=>({step:o,kind:s,because:l,does:d,tries:a,error:t.error?.message??null});if(s==="run")return null;switch(t.status){case"completed":case"waiting":return null;case"failed":return e?.isRetryable===!1&&n.status!=="dead_letter"?null:i("failed",s==="effect"?"send":"run");case"unknown":return{step:o,does:"ask"};case"intent":return di(t,e,r,l=>i("doubt",l))}}function di({key:t},e,n,r){if(e?.keyUntil!==null&&e?.keyUntil!==void 0&&e.keyUntil>n)return r("send_again");switch(e?.onDoubt){case"find":return r("look_up");case"repeat":return r("send_again");case"stop":return{step:t,does:"tell"};case"ask":return{step:t,does:"ask"};case null:case void 0:return r("settle")}}function $r(t,e){let n=vr(t,e);return{id:t.id,agent:t.agent,version:t.version,tenant:t.tenant,status:t.status,reason:t.lastReason,why:_r(t,e),since:ui(t,e),at:e.now,error:t.error,failedStep:e.failedStep,release:Er(t,e.releases),budgets:{errors:t.errorCount,crashes:t.crashCount,crashesMax:e.crashesMax,deploys:t.handoverCount},outside:ci(t.steps,e),stored:t.steps.filter(r=>r.status==="completed").map(r=>r.key),...n,attempts:t.attempts,next:Tr(t,e,n.goesOn)}}function ui(t,e){let n=t.attempts.at(-1)?.endedAt??t.createdAt;switch(t.status){case"processing":return e.claimedAt??t.createdAt;case"pending":case"waiting":return n;case"completed":case"cancelled":case"dead_letter":return t.finishedAt??n}}function ci(t,{followUp:e}){let n=t.filter(o=>o.kind==="effect"),r=(...o)=>n.filter(({status:s})=>o.includes(s)).map(({key:s})=>s);return{done:r("completed"),inDoubt:r("intent","unknown"),refused:r("failed"),followUp:e}}var fi=1e3,mi=1e3,pi=50;async function Ir(t,e){let n=await t.run(`with alive as materialized (
       select handlers, greatest(0, concurrency - running) as free, release,
         exists (select 1 from foothold.pauses p where p.kind = 'release' and p.value = w.release) as is_paused
       from foothold.workers w where status = 'active' and lease_until > foothold.clock()),
     live as materialized (select handlers, free from alive where not is_paused)
     select foothold.clock() as now, t.max_crashes as "crashesMax", t.crashes_total as "crashesTotal", t.suspect as "isSuspect", t.handler,
       t.cancel_reason as "cancelReason", t.claimed_at as "claimedAt", t.run_at as "runAt", t.deadline_ms is null as "isDeadlineFixed",
       (select p.error::text from foothold.task_payloads p where p.task_id = t.id) as error,
       (select json_build_object('status', w.status, 'lastHeartbeatAt', w.last_heartbeat_at,
                                 'isLeaseGood', w.status in ('active', 'draining') and w.lease_until > foothold.clock())
        from foothold.workers w where w.id = t.worker_id) as worker,
       (select count(*)::int from live where t.handler = any(handlers)) as "liveWorkers",
       (select coalesce(sum(free), 0)::int from live where t.handler = any(handlers)) as "freeSlots",
       (select count(*)::int from alive) as "liveWorkersInAll",
       coalesce((select json_agg(h) from (${G({handler:"t.handler",tenant:"t.tenant"})} order by kind) h), '[]') as pauses,
       array(select distinct release from alive where is_paused and t.handler = any(handlers) order by release) as "pausedReleases",
       (select count(*)::int from (
          select 1 from foothold.tasks o
          where t.status = 'pending' and o.status = 'pending' and not o.suspect and o.handler = t.handler
            and (o.priority, o.run_at, o.id) < (t.priority, t.run_at, t.id) limit ${fi}) b) as "tasksBefore",
       array(select g.name from foothold.signals g where g.task_id = t.id and g.consumed_by is null order by g.id limit 20) as "unconsumedSignals",
       coalesce((select json_agg(json_build_object('key', s.key, 'isRetryable', s.retryable, 'refusals', s.refusals,
                                                   'dueAt', s.due_at, 'doubtUntil', s.doubt_until,
                                                   'onDoubt', s.on_doubt, 'keyUntil', s.key_until) order by s.started_at, s.key)
                 from foothold.agent_steps s where s.task_id = t.id), '[]') as steps,
       coalesce((select json_agg(json_build_object('key', b.key, 'isInThisAttempt', b.attempt = t.attempt and t.status = 'processing', 'at', b.at) order by b.first)
                 from (select c.key, max(c.attempt) as attempt, min(c.id) as first, min(c.created_at) as at from foothold.stream_chunks c
                       where c.task_id = t.id and c.channel = '${Me}' and t.status not in ('completed', 'cancelled')
                         and not exists (select 1 from foothold.agent_steps s
                                         where s.task_id = c.task_id and s.key = c.key and s.status in ('completed', 'unknown'))
                       group by c.key) b), '[]') as begun,
       coalesce((select json_agg(json_build_object('attempt', a.attempt, 'release', w.release))
                 from (select attempt, worker_id from foothold.attempts where task_id = t.id
                       union all select t.attempt, t.worker_id where t.worker_id is not null) a
                 join foothold.workers w on w.id = a.worker_id), '[]') as "releasesOfAttempts",
       coalesce((select json_agg(r) from (
          select release, min(started_at) as at from foothold.workers group by release order by max(started_at) desc limit ${pi}) r), '[]') as "releasesSeen",
       coalesce((select json_agg(r) from (
          select w.release, max(a.ended_at) as "lastAt"
          from (select id, agent, attempt, status from foothold.tasks order by id desc limit ${mi}) n
            join foothold.attempts a on a.task_id = n.id and a.attempt = n.attempt join foothold.workers w on w.id = a.worker_id
          where n.agent = t.agent and n.status = 'completed' group by w.release) r), '[]') as successes,
       (select json_build_object('id', f.id, 'status', f.status) from foothold.tasks f
        where f.parent_id = t.id order by f.id desc limit 1) as "followUp"
     from foothold.tasks t where t.id = $1`,[e],{doing:"asking why a task stands where it stands"});return n[0]===void 0?null:hi(n[0])}function hi(t){let{worker:e,steps:n,pauses:r,begun:o,error:s,releasesOfAttempts:a,releasesSeen:i,successes:l,...d}=t;return{...d,now:new Date(t.now),runAt:new Date(t.runAt),claimedAt:$(t.claimedAt),failedStep:yi(s),worker:e===null?null:{...e,lastHeartbeatAt:new Date(e.lastHeartbeatAt)},pauses:r.map(Ke),begun:o.map(u=>({...u,at:new Date(u.at)})),steps:n.map(u=>({...u,dueAt:$(u.dueAt),doubtUntil:$(u.doubtUntil),keyUntil:$(u.keyUntil)})),releases:{ofAttempts:a,firstSeen:i.map(({release:u,at:c})=>({release:u,at:new Date(c)})),successes:l.map(({release:u,lastAt:c})=>({release:u,lastAt:new Date(c)}))}}}function yi(t){let e=V(t)?.step;return typeof e=="string"?e:null}async function Or(t,e){let n=I(e);if(n===null)return null;let[r,o]=await Promise.all([Ye(t,n),Ir(t,n)]);return r===null||o===null?null:$r(r,o)}function Dr(t){let{db:e}=t,n=er(e),r=Qn(e),o={db:e,results:n,watches:r};return{submit:async(i,l,d={})=>Mt(o,await gr(t,i,l,d)),handle:i=>Mt(o,{id:I(i)??i,created:!1}),sendSignal:(i,l,d,u={})=>ur(t,i,l,d,u),cancel:(i,l={})=>rt(e,i,l),resume:i=>Hn(t,i),restart:(i,l)=>Gn(t,i,l),decide:(i,l,d)=>Kn(t,i,l,d),pause:(i,l={})=>nr(e,i,l),unpause:i=>rr(e,i),pauses:()=>cn(e),tasks:(i={})=>ar(e,i),async task(i){let l=I(i);return l===null?null:Ye(e,l)},why:i=>Or(e,i),workers:()=>Rn(e),agents:()=>Qe(e),ready:(i={})=>ir(e,i),stopWatching(){n.close(),r.close()}}}function ue(){return Number(process.hrtime.bigint())/1e6}function Rt(){return Date.now()}var Z={monotonicMs:ue,wallMs:Rt};var gi=8,De=100,wi=1e4;function ce(t,e=[]){switch(typeof t){case"string":return M(t,wi);case"number":return Number.isFinite(t)?t:String(t);case"bigint":case"symbol":return String(t);case"function":return`[function ${t.name}]`;case"boolean":case"undefined":return t;case"object":return t===null?null:ki(t,e)}}function ki(t,e){if(e.includes(t))return"[cycle]";if(e.length>=gi)return"[deeper]";let n=[...e,t];return t instanceof Error?_i(t,n):t instanceof Date?Number.isNaN(t.getTime())?"Invalid Date":t.toISOString():ArrayBuffer.isView(t)?`[${t.byteLength} bytes]`:t instanceof Map?Pt([...t].slice(0,De),n):t instanceof Set||Array.isArray(t)?bi([...t],n):"toJSON"in t&&typeof t.toJSON=="function"?ce(t.toJSON(),n):Pt(Object.entries(t),n)}function _i(t,e){let{name:n,code:r,message:o,stack:s,cause:a,errors:i}=t;return Pt(Object.entries({name:n,code:r,message:o,stack:s,cause:a,errors:Array.isArray(i)?i.slice(0,5):void 0}).filter(([,l])=>l!==void 0),e)}function bi(t,e){let n=t.slice(0,De).map(r=>ce(r,e));return t.length>De?[...n,`[${t.length-De} more]`]:n}function Pt(t,e){return Object.fromEntries(t.slice(0,De).map(([n,r])=>[M(String(n),200),ce(r,e)]))}var Rr=["debug","info","warn","error"],Si=16*1024*1024;function Nr(t={}){let{stream:e=process.stderr,level:n="info",pretty:r=e.isTTY===!0}=t,o=Rr.indexOf(n),s=0;vi(e);let a=(i,l,d)=>{if(Rr.indexOf(i)<o)return;if((e.writableLength??0)>Si){s+=1;return}let u=Ti(i,s===0?l:{...l,droppedLines:s},d);s=0;try{e.write(`${Ei(r?Ai(u):JSON.stringify(u))}
`)}catch{}};return{debug:(i,l)=>a("debug",i,l),info:(i,l)=>a("info",i,l),warn:(i,l)=>a("warn",i,l),error:(i,l)=>a("error",i,l)}}var Lr={debug:()=>{},info:()=>{},warn:()=>{},error:()=>{}};function Ti(t,e,n){let r={time:new Date(Rt()).toISOString(),level:t,message:String(ce(n))};try{let o=ce(e instanceof Error?{error:e}:{...e});for(let s of Object.keys(r))Object.hasOwn(o,s)&&(o[`${s}_`]=o[s],delete o[s]);return{...r,...o}}catch{return{...r,fields:"[cannot be shown: reading them failed]"}}}function Ai({time:t,level:e,message:n,...r}){let o=Object.entries(r).map(([a,i])=>` ${a}=${xi(i)}`);return`${t.slice(11,23)} ${e.toUpperCase().padEnd(5)} ${n}${o.join("")}`.replace(new RegExp("\\p{Cc}","gu"),a=>JSON.stringify(a).slice(1,-1).replace(a,"\uFFFD"))}function xi(t){if(typeof t=="string")return/^[\p{L}\p{N}_.:/@#-]+$/u.test(t)?t:JSON.stringify(t);if(typeof t=="object"&&t!==null&&"stack"in t&&"message"in t){let{name:e,code:n,message:r}=t;return JSON.stringify([e,n,r].filter(o=>o!==void 0&&o!=="").join(" "))}return JSON.stringify(t)??String(t)}function Ei(t){return t.replace(/(:\/\/[^\s:@/"]*:)[^\s@/"]+@/g,"$1***@")}var Pr=new WeakSet;function vi(t){Pr.has(t)||(Pr.add(t),t.on?.("error",()=>{}))}async function Nt(t,e){if(e===void 0)return t;let n=()=>{},r=new Promise((o,s)=>{n=()=>s(e.reason),e.aborted?n():e.addEventListener("abort",n,{once:!0})});try{return await Promise.race([t,r])}finally{e.removeEventListener("abort",n)}}import{setMaxListeners as Mi}from"node:events";var $i=2**31-1;function D(t,e){return e?.aborted?Promise.resolve("aborted"):new Promise(n=>{let r=Number.isNaN(t)?0:t,o,s=()=>{let l=Math.min(Math.max(r,0),$i);r-=l,o=setTimeout(()=>r>0?s():i("elapsed"),l)},a=()=>i("aborted"),i=l=>{clearTimeout(o),e?.removeEventListener("abort",a),n(l)};e!==void 0&&(Mi(0,e),e.addEventListener("abort",a,{once:!0})),s()})}var Ii=1e3;function z(t){let e=new AbortController,n=new AbortController,r=async()=>{for(;!e.signal.aborted;)n=new AbortController,await Oi(t,e.signal),await Di(t,n.signal)},o=Promise.resolve().then(r);return{wake:()=>n.abort(),stop:()=>(e.abort(),n.abort(),o)}}async function Oi(t,e){try{await t.run(e)}catch(n){e.aborted&&Pi(n,e)||Cr(t,n)}}async function Di(t,e){let n=Ri(t),{jitterRatio:r=0,random:o=Math.random}=t;await D(n===null?1/0:n*(1-r*o()),e)==="aborted"&&await new Promise(a=>setImmediate(a))}function Ri(t){if(t.next===void 0)return t.everyMs;try{return t.next()}catch(e){return Cr(t,e),Ii}}function Pi(t,e){return t===e.reason||t instanceof Error&&t.name==="AbortError"}function Cr(t,e){try{t.onError(e,t.name)}catch{}}var jr=`
  insert_alert as (
    insert into foothold.alerts (task_id, attempt, agent, reason, at)
    select t.id, t.attempt, t.agent, dead.reason, foothold.clock() from dead join foothold.tasks t on t.id = dead.id
    on conflict do nothing)`;var Ni="interval '1 hour'",Li="interval '10 minutes'",Ci="interval '1 day'";async function Ur(t,e){return(await t.run(`select exists (select 1 from foothold.alerts where group_id is null) as "hasNew",
       exists (select 1 from foothold.alert_groups where resolved_at is null and look_at <= foothold.clock()) as "hasLooks",
       array(select c.name from unnest($1::text[]) c(name) where exists (select 1 from ${Ct("c.name")})) as channels`,[e],{doing:"looking for alerts",patienceMs:0}))[0]}function Ct(t){return`foothold.alert_groups g
    left join foothold.alert_deliveries d on d.group_id = g.id and d.channel = ${t}
    where (g.resolved_at is null or g.resolved_at > foothold.clock() - ${Ci} and d.group_id is not null)
      and g.version > coalesce(d.version_shown, 0)
      and coalesce(greatest(d.due_at, d.lease_until) <= foothold.clock(), true)`}async function Wr(t,e){return await t.run(`update foothold.alert_groups set takes_alerts = false
     where takes_alerts and last_alert_at < foothold.clock() - ${Ni}`,[],{doing:"closing quiet groups of alerts",patienceMs:0}),(await t.run(`with fresh as materialized (
       select task_id, attempt, agent, reason, at from foothold.alerts where group_id is null
       order by at limit $2 for no key update skip locked),
     g as (
       insert into foothold.alert_groups as g (agent, reason, opened_at, last_alert_at, look_at, changed_at)
       select agent, reason, min(at), max(at), foothold.clock(), foothold.clock() from fresh
       group by agent, reason order by agent, reason
       on conflict (agent, reason) where takes_alerts do update set
         seq = g.seq + 1, last_alert_at = greatest(g.last_alert_at, excluded.last_alert_at), changed_at = excluded.changed_at,
         look_at = least(g.look_at, excluded.look_at + interval '2 seconds')
       returning id, agent, reason),
     d as (
       insert into foothold.alert_deliveries (group_id, channel, due_at)
       select g.id, c.name, foothold.clock() from g cross join unnest($1::text[]) c(name)
       on conflict do nothing),
     grouped as (
       update foothold.alerts a set group_id = g.id from fresh f join g using (agent, reason)
       where a.task_id = f.task_id and a.attempt = f.attempt returning 1)
     select count(*)::int as grouped from grouped`,[e,1e3],{doing:"grouping alerts",patienceMs:0}))[0]?.grouped??0}async function qr(t){return t.run(`with due as materialized (
       select id, seq from foothold.alert_groups where resolved_at is null and look_at <= foothold.clock()
       order by look_at limit 20),
     last as materialized (
       select distinct on (due.id, a.task_id) due.id, due.seq, a.task_id, a.attempt
       from due join foothold.alerts a on a.group_id = due.id order by due.id, a.task_id, a.attempt desc),
     counted as materialized (
       select l.id, l.seq, count(*)::int as tasks,
         count(*) filter (where t.status = 'dead_letter' and t.attempt = l.attempt)::int as standing,
         count(*) filter (where t.status in ('pending', 'processing', 'waiting'))::int as under_way,
         count(*) filter (where t.status = 'completed')::int as completed,
         count(*) filter (where t.status = 'cancelled')::int as cancelled
       from last l left join foothold.tasks t on t.id = l.task_id group by l.id, l.seq),
     judged as materialized (
       select c.*, foothold.clock() as now from counted c)
     update foothold.alert_groups g set
       tasks = j.tasks, standing = j.standing, under_way = j.under_way, completed = j.completed, cancelled = j.cancelled,
       version = g.version + ${Fr}::int,
       changed_at = case when ${Fr} then j.now else g.changed_at end,
       all_left_at = case when j.standing = 0 then coalesce(g.all_left_at, j.now) end,
       resolved_at = case when ${Lt} then j.now end,
       takes_alerts = g.takes_alerts and not ${Lt},
       look_at = j.now + interval '1 ms' * least(30000, greatest(2000, j.tasks, extract(epoch from j.now - g.changed_at) * 100))
     from judged j
     where g.id = j.id and g.seq = j.seq and g.resolved_at is null and g.look_at <= foothold.clock()
     returning g.id::text as id, g.agent, g.reason, g.tasks, g.standing, g.resolved_at is not null as "isResolved"`,[],{doing:"counting the tasks of alerts",patienceMs:0})}var Lt=`(j.standing = 0 and (j.under_way = 0 or coalesce(g.all_left_at < j.now - ${Li}, false)))`,Fr=`((j.tasks, j.standing, j.under_way, j.completed, j.cancelled)
  is distinct from (g.tasks, g.standing, g.under_way, g.completed, g.cancelled) or g.version = 0 or ${Lt})`;import{randomUUID as sl}from"node:crypto";var Fi={firstMs:1e3,maxMs:6e4},ji={firstMs:3e4,maxMs:6e5},Ui={firstMs:15e3,maxMs:6e5};function Hr(t,{failures:e,isFirstMessage:n}){let{firstMs:r,maxMs:o}=Wi(t,n);return Math.max(t.afterMs,Math.min(o,r*2**Math.min(e,20)))}function Wi({retryable:t,isDefinite:e},n){return t?e||!n?Fi:Ui:ji}var qi=new Set(["VALUE_NOT_STORABLE","PAYLOAD_TOO_LARGE","INVALID_ARGUMENT","INPUT_INVALID","STEP_KEY_REUSED"]);function L(t){let e=Gr(t),n=t?.["~foothold.failure"],r=t;if(n==="terminal")return{reason:r.reason,code:"TERMINAL",message:e,retryable:!1,afterMs:0,isDefinite:!0};if(n==="retry"){let o=Gi(r.afterMs);return{reason:r.reason,code:"RETRY",message:e,retryable:!0,afterMs:o,isDefinite:!0}}return n==="reasoned"?{reason:r.reason,code:"FAILED",message:e,retryable:!0,afterMs:0,isDefinite:!1}:b(t)?{reason:t.code==="STEP_TIMEOUT"?"timeout":t.code==="INPUT_INVALID"?"input_invalid":"step_failed",code:t.code,message:e,retryable:!qi.has(t.code),afterMs:0,isDefinite:!1}:{reason:"step_failed",code:"FAILED",message:e,retryable:!0,afterMs:0,isDefinite:!1}}var Hi=864e5;function Gi(t){return t===void 0||Number.isNaN(t)?0:Math.min(Hi,Math.max(0,t))}function Gr(t){if(t instanceof AggregateError&&t.message===""&&t.errors.length>0)return Gr(t.errors[0]);if(t instanceof Error){let e=t.cause instanceof Error?` (${t.cause.message})`:"";return`${t.name==="Error"?"":`${t.name}: `}${t.message}${e}`}if(typeof t=="string")return t;try{return`thrown: ${String(t)}`}catch{return"thrown: a value that has no text"}}var Ki=5,Vi=1e3,Bi=6e4,zi=.05;function at(t,e,n,r){let{attemptsMax:o=Ki,firstDelayMs:s=Vi,delayMaxMs:a=Bi}=n;if(!t.retryable)return{kind:"final"};if(e>=o&&!st(t.reason))return{kind:"final"};let i=Math.min(a,s*2**Math.min(e-1,30));if(t.afterMs===0)return{kind:"retry",delayMs:Math.round(Math.max(r(),zi)*i)};let l=Math.max(i,t.afterMs/5);return{kind:"retry",delayMs:Math.round(t.afterMs+r()*l)}}var Kr="interval '30 seconds'",Ji=5,Xi="interval '5 seconds'",Yi=500;async function Vr(t,e,n){let o=(await t.run(`insert into foothold.alert_deliveries as d (group_id, channel, claim_id, lease_until, due_at, doubts)
     select g.id, $1, $2, foothold.clock() + ${Kr}, foothold.clock(), 1 from ${Ct("$1")}
     order by d.group_id is null, g.id limit 1
     on conflict (group_id, channel) do update set
       claim_id = excluded.claim_id,
       doubts = d.doubts + (d.message_ref is null)::int,
       lease_until = excluded.lease_until + ${Kr} * (power(2, least(d.doubts, ${Ji})) - 1)
     where coalesce(greatest(d.due_at, d.lease_until) <= foothold.clock(), true)
     returning d.group_id::text as "groupId", d.claim_id as "claimId", d.message_ref::text as "messageRef", d.doubts, d.failures,
       (select g.version from foothold.alert_groups g where g.id = d.group_id) as version`,[e,n],{doing:"claiming an alert",patienceMs:0}))[0];return o===void 0?null:{...o,messageRef:o.messageRef===null?null:JSON.parse(o.messageRef)}}async function Br(t,{groupId:e,claimId:n,version:r},o,s){return(await t.run(`update foothold.alert_deliveries set message_ref = $4::json, version_shown = $5, shown_at = foothold.clock(),
       due_at = foothold.clock() + ${Xi}, claim_id = null, lease_until = null, doubts = 0, failures = 0, last_error = null
     where group_id = $1 and channel = $2 and claim_id = $3 returning 1`,[e,o,n,JSON.stringify(s),r],{doing:"storing that an alert was sent"})).length>0}async function zr(t,{groupId:e,claimId:n,messageRef:r},o,{message:s,isDefinite:a,pauseMs:i}){await t.run(`update foothold.alert_deliveries set failures = failures + 1, doubts = doubts - $5::int, last_error = $4,
       due_at = foothold.clock() + $6::float8 * interval '1 ms', claim_id = null, lease_until = null
     where group_id = $1 and channel = $2 and claim_id = $3`,[e,o,n,s.slice(0,Yi),Number(a&&r===null),i],{doing:"storing that an alert was not sent"})}var Qi="unlabelled";function Jr(t,e){return{verdict:Zi(t,e),failed:t,completedBefore:e}}function Zi(t,e){let[n,...r]=t;return n===void 0||t.some(({release:o})=>o===Qi)?"unknown":r.length>0?"several":e.some(({release:o})=>o===n.release)?"known":e.length>0?"new":"unknown"}var el=1e3,tl=1e3,fe=5,nl=3;async function Xr(t,e){let n=await t.run(`with g as materialized (select * from foothold.alert_groups where id = $1),
     last as materialized (
       select distinct on (a.task_id) a.task_id, a.attempt from foothold.alerts a where a.group_id = $1
       order by a.task_id, a.attempt desc),
     examined as materialized (
       select l.task_id, l.attempt, t.tenant, t.status = 'dead_letter' and t.attempt = l.attempt as stands
       from last l join foothold.tasks t on t.id = l.task_id
       order by stands desc, l.task_id limit ${el}),
     unfinished as materialized (
       select e.task_id, s.key, s.kind, s.status, s.error::text as error, coalesce(s.finished_at, s.started_at) as at
       from examined e join foothold.agent_steps s on s.task_id = e.task_id
       where e.stands and s.status in ('failed', 'intent', 'unknown')),
     causes as (
       select distinct on (e.task_id) e.task_id, u.key as step, coalesce(u.error, p.error::text) as error
       from examined e join foothold.task_payloads p on p.task_id = e.task_id
         left join unfinished u on u.task_id = e.task_id and u.error is not null
       where e.stands order by e.task_id, u.at desc),
     before as materialized (
       select t.id, t.attempt from foothold.tasks t
       where t.id < (select task_id from last order by task_id limit 1) order by t.id desc limit ${tl}),
     completed_before as materialized (
       select a.task_id, w.release from before b
         join foothold.attempts a on a.task_id = b.id and a.attempt = b.attempt and a.outcome = 'completed'
         join foothold.tasks t on t.id = b.id join foothold.workers w on w.id = a.worker_id, g
       where t.agent = g.agent and a.ended_at < g.opened_at),
     usual_effects as (
       select s.key from (select task_id from completed_before order by task_id desc limit 20) c
         join foothold.agent_steps s on s.task_id = c.task_id and s.kind = 'effect'
       group by s.key having count(*) > 1),
     effect_counts as (
       select s.key, count(*) filter (where s.status = 'completed')::int as done,
         count(*) filter (where s.status in ('intent', 'unknown'))::int as "inDoubt"
       from examined e join foothold.agent_steps s on s.task_id = e.task_id and s.kind = 'effect'
       group by s.key
       union all select key, 0, 0 from usual_effects),
     follow_ups as materialized (
       select f.id, f.status from examined e join foothold.tasks f on f.parent_id = e.task_id
       where f.handler like '%/dead_letter')
     select g.id::text as id, g.agent, g.reason, g.opened_at as "openedAt", g.last_alert_at as "lastAlertAt",
       g.resolved_at as "resolvedAt", g.tasks as total, g.standing, g.under_way as "underWay", g.completed, g.cancelled,
       (select count(*)::int from examined) as examined,
       ${ee(`select step, error, count(*)::int as tasks from causes group by step, error order by tasks desc, step limit ${fe}`)} as errors,
       ${ee(`select task_id as id, tenant from examined where stands order by task_id limit ${nl}`)} as examples,
       ${ee(`
         select w.release, count(*)::int as tasks,
           (select min(o.started_at) from foothold.workers o where o.release = w.release) as "startedAt"
         from examined e join foothold.attempts a on a.task_id = e.task_id and a.attempt = e.attempt
           join foothold.workers w on w.id = a.worker_id
         group by w.release order by tasks desc, w.release limit ${fe}`)} as failed,
       ${ee(`select release, count(*)::int as tasks from completed_before group by release order by tasks desc, release limit ${fe}`)} as "completedBefore",
       ${ee(`
         select key, sum(done)::int as done, sum("inDoubt")::int as "inDoubt" from effect_counts
         group by key order by sum(done + "inDoubt") desc, key limit ${fe}`)} as effects,
       (select json_build_object('completed', count(*) filter (where status = 'completed'),
          'deadLetters', count(*) filter (where status = 'dead_letter'),
          'underWay', count(*) filter (where status in ('pending', 'processing', 'waiting'))) from follow_ups) as "followUps",
       ${ee(`
         select s.key, count(*)::int as done from follow_ups f join foothold.agent_steps s on s.task_id = f.id
         where s.kind = 'effect' and s.status = 'completed' group by s.key order by done desc, s.key limit ${fe}`)} as "followUpEffects",
       ${ee(`
         select key as step, kind, status, count(*)::int as tasks from unfinished
         group by key, kind, status order by tasks desc, key limit ${fe}`)} as repeats
     from g`,[e],{doing:"reading what an alert tells",patienceMs:0});return n[0]===void 0?null:rl(n[0])}function ee(t){return`coalesce((select json_agg(x) from (${t}) x), '[]')`}function rl(t){let{id:e,agent:n,reason:r,total:o,standing:s,underWay:a,completed:i,cancelled:l,examined:d,effects:u}=t,c=$(t.resolvedAt);return{id:e,status:c===null?"open":"resolved",agent:n,reason:r,since:new Date(t.openedAt),lastAt:new Date(t.lastAlertAt),resolvedAt:c,tasks:{total:o,standing:s,underWay:a,completed:i,cancelled:l},examined:d,errors:t.errors.map(({step:m,error:h,tasks:p})=>({step:m,message:U(h)?.message??"no error was stored",tasks:p})),examples:t.examples.map(m=>({id:m.id,tenant:m.tenant===""?null:m.tenant})),release:Jr(t.failed.map(m=>({...m,startedAt:new Date(m.startedAt)})),t.completedBefore),effects:u,followUps:ol(t),repeats:t.repeats.map(({step:m,kind:h,status:p,tasks:y})=>({step:m,kind:h,because:p==="failed"?"failed":"doubt",tasks:y}))}}function ol({followUps:t,followUpEffects:e}){let{completed:n,underWay:r,deadLetters:o}=t;return n+r+o===0?null:{completed:n,underWay:r,deadLetters:o,effects:e}}function Yr({agent:t,reason:e,examples:n}){let[r]=n;return r===void 0?[]:[`npx foothold why ${r.id}`,`npx foothold tasks ${e==="input_invalid"?"cancel":"resume"} ${r.id}`,`npx foothold dead-letters --agent ${t}`]}var al=1e4,il=15e3,ll=1e3;function Qr(t){return z({name:`alert channel ${t.channel.name}`,next:()=>null,onError:t.onError,async run(e){for(;!e.aborted;){let n=ue(),r=await Vr(t.db,t.channel.name,sl());if(r===null)return;await dl(t,r,{claimedAtMs:n,stopping:e})}}})}async function dl(t,e,{claimedAtMs:n,stopping:r}){let{db:o,channel:s,logger:a}=t,i=await Xr(o,e.groupId);if(i===null)return;let l={...i,commands:Yr(i)},d={channel:s.name,group:l.id,agent:l.agent,reason:l.reason},u;try{if(ue()-n>il)throw new Se("its claim is too old to send under");u=await ul(s,e,l,r)}catch(p){let y=L(p),{failures:g,messageRef:w}=e,_=Hr(y,{failures:g,isFirstMessage:w===null});a[y.retryable?"warn":"error"]({...d,failures:g+1,pauseMs:_,error:p},"alert not sent"),await zr(o,e,s.name,{...y,pauseMs:_});return}let c=await Br(o,e,s.name,u),{tasks:m,status:h}=l;a.info({...d,tasks:m.total,standing:m.standing,status:h,isStored:c},"alert sent")}async function ul(t,{messageRef:e,doubts:n},r,o){let s=new AbortController,a=()=>s.abort(new Error("the channel did not answer within its time")),i=[setTimeout(a,al)],l=()=>{i.push(setTimeout(a,ll))};o.addEventListener("abort",l,{once:!0});let d=new Promise((u,c)=>{s.signal.addEventListener("abort",()=>c(s.signal.reason),{once:!0})});try{let u={signal:s.signal,mayBeRepeated:e===null&&n>1},c=e===null?t.send(r,u):t.update(e,r,u);return await Promise.race([c,d])}finally{o.removeEventListener("abort",l);for(let u of i)clearTimeout(u)}}var cl=1e3;function Zr(t){let{db:e,channels:n,logger:r,onError:o}=t,s=n.map(({name:l})=>l),a=new Map(n.map(l=>[l.name,Qr({...t,channel:l})])),i=z({name:"alert",everyMs:cl,jitterRatio:.2,onError:o,async run(){let l=await Ur(e,s),u=(l.hasNew?await Wr(e,s):0)>0||l.hasLooks?await qr(e):[];for(let{id:m,isResolved:h,...p}of u)h&&r.info({group:m,...p},"alert resolved");let c=u.length>0?s:l.channels;for(let m of c)a.get(m)?.wake()}});return{async stop(){await Promise.all([i,...a.values()].map(l=>l.stop()))}}}var fl=/^[a-z0-9][a-z0-9_.:-]{0,62}$/;function eo(t){let e=new Set;for(let[n,r]of t.entries()){let o=`alerts[${n}]`,{name:s}=r;if(typeof s!="string"||!fl.test(s))throw new f("INVALID_ARGUMENT",{field:`${o}.name`,problem:`${JSON.stringify(s)} is not 1 to 63 of a-z, 0-9 and _.:-`,cure:"Use a name that stays, like 'telegram'."});if(e.has(s))throw new f("INVALID_ARGUMENT",{field:`${o}.name`,problem:`${JSON.stringify(s)} is taken by another channel`,cure:"Give each channel a name of its own."});e.add(s);for(let a of["send","update"])if(typeof r[a]!="function")throw new f("INVALID_ARGUMENT",{field:`${o}.${a}`,problem:"it is not a function"})}}var ml=500;async function to(t){return(await t.run(`with c as materialized (
       select id from foothold.tasks where status = 'waiting' and wake_at <= foothold.clock()
       order by wake_at limit $1 for no key update skip locked),
     t as (
       update foothold.tasks t set status = 'pending', wake_at = null, waiting_for = null from c where t.id = c.id
       returning t.id, t.handler),
     s as (
       update foothold.agent_steps s set status = 'completed', output = 'null', due_at = null, finished_at = foothold.clock()
       from t where s.task_id = t.id and s.status = 'waiting' and s.due_at <= foothold.clock())
     select coalesce((select array_agg(distinct handler) from t), '{}') as handlers, (select count(*)::int from t) as count,
            (select ceil(extract(epoch from min(wake_at) - foothold.clock()) * 1000)::float8 from foothold.tasks
             where status = 'waiting' and wake_at > foothold.clock()) as "nextInMs",
            ${yn} as "hasTenantPauses"`,[ml],{doing:"waking what is due",patienceMs:0}))[0]}async function no(t,e,n){await t.run(`insert into foothold.workers (id, release, handlers, concurrency, status, started_at, last_heartbeat_at, lease_ms, lease_until, steady_since)
     select $1, $2, $3, $4, 'active', c, c, $5::int, c + $5 * interval '1 ms', c - $6 * interval '1 ms' from foothold.clock() c
     on conflict (id) do nothing`,[e.id,e.release,e.handlers,e.concurrency,e.leaseMs,e.leaseMs-2*e.heartbeatMs],{doing:"registering a worker",patienceMs:Number.POSITIVE_INFINITY,signal:n})}async function ro(t,e,n){await t.run(`insert into foothold.agents as a (handler, name, version, deadline_ms, has_dead_letter_handler, registered_at)
     select *, foothold.clock() from unnest($1::text[], $2::text[], $3::int[], $4::int[], $5::boolean[])
     on conflict (handler) do update
       set deadline_ms = excluded.deadline_ms, has_dead_letter_handler = excluded.has_dead_letter_handler
       where (a.deadline_ms, a.has_dead_letter_handler) is distinct from (excluded.deadline_ms, excluded.has_dead_letter_handler)`,[e.map(r=>r.handler),e.map(r=>r.name),e.map(r=>r.version),e.map(r=>r.deadlineMs),e.map(r=>r.hasDeadLetterHandler)],{doing:"registering a worker's agents",patienceMs:Number.POSITIVE_INFINITY,signal:n})}var pl=`
  select t.id, t.attempt, t.claim_id as "claimId", t.wake_seq as "wakeSeq",
         t.cancel_requested_at is not null as "isCancelRequested",
         exists (${G({handler:"t.handler",tenant:"t.tenant",release:"(select release from foothold.workers where id = $1)"})}) as "isPaused"
  from foothold.tasks t where t.worker_id = $1 and t.status = 'processing'`;async function oo(t,e,n){return t.run(pl,[e],n)}var so="foothold_pending";async function ao(t,e,n){await t.run("update foothold.workers set status = 'draining' where id = $1 and status = 'active'",[e],{doing:"telling that a worker drains",patienceMs:n})}async function io(t,e,n){await t.run("update foothold.workers set status = 'stopped', running = 0 where id = $1 and status in ('active', 'draining')",[e],{doing:"telling that a worker stopped",patienceMs:n})}async function lo(t,e){return t.run(`with ok as materialized (
       select 1 from foothold.workers
       where id = $1 and status in ('active', 'draining')
         and steady_since <= foothold.clock() - $3 * interval '1 ms'
         and last_heartbeat_at between foothold.clock() - 2 * $2 * interval '1 ms' and foothold.clock()),
     d as materialized (
       select id, status from foothold.workers
       where status in ('active', 'draining')
         and (lease_until < foothold.clock() or lease_until > foothold.clock() + 2 * lease_ms * interval '1 ms')
         and exists (select 1 from ok)
       order by id limit 10 for update skip locked)
     update foothold.workers w set status = 'lost', lost_while = d.status,
       lost_running = (select count(*) from foothold.tasks t where t.worker_id = d.id and t.status = 'processing')
     from d where w.id = d.id
     returning w.id`,[e.workerId,e.heartbeatMs,e.leaseMs],{doing:"looking for lost workers",patienceMs:0})}var Re="id = $1 and attempt = $2 and worker_id = $3 and status = 'processing'",Pe=(t,e,n)=>`
  insert into foothold.attempts (task_id, attempt, worker_id, started_at, ended_at, outcome, reason, detail)
  select t.id, t.attempt, $3, t.claimed_at, foothold.clock(), ${t}, ${e}, ${n} from t
  on conflict do nothing`;async function uo(t,e,n,r){return(await t.run(`with t as (
       update foothold.tasks set status = 'completed', worker_id = null, claim_id = null, last_reason = null, finished_at = foothold.clock()
       where ${Re} returning id, attempt, claimed_at),
     p as (update foothold.task_payloads p set output = $4::json from t where p.task_id = t.id),
     a as (${Pe("'completed'","'completed'","null")})
     select 1 from t`,[e.taskId,e.attempt,e.workerId,n],r)).length>0}async function co(t,e,n){return(await t.run('select status, attempt, worker_id as "workerId" from foothold.tasks where id = $1',[e.taskId],n))[0]??null}var hl=5e3,yl=250,gl=6e4,wl=t=>`
  case when exists (
    select 1 from foothold.workers w, foothold.workers n
    where w.id = ${t} and n.release <> w.release and n.started_at > w.started_at and tasks.handler = any(n.handlers)
      and n.status = 'active' and n.lease_until > foothold.clock()
      and (n.started_at > foothold.clock() - ${gl} * interval '1 ms'
           or n.concurrency > (select count(*) from foothold.tasks h where h.worker_id = n.id and h.status = 'processing')))
  then ${hl} else ${yl} end`;async function Ne(t,e,n,r){return(await t.run(`with t as (
       update foothold.tasks set
         status = case when cancel_requested_at is null then 'pending' else 'cancelled' end,
         finished_at = case when cancel_requested_at is null then null else foothold.clock() end,
         worker_id = null, claim_id = null, handover_count = handover_count + 1,
         left_release = (select release from foothold.workers where id = $3),
         yield_until = case when $4 = 'graceful_shutdown' then foothold.clock() + ${wl("$3")} * interval '1 ms' end,
         last_reason = case when cancel_requested_at is null then $4 else 'cancelled' end
       where ${Re} returning id, attempt, claimed_at, handler, cancel_requested_at),
     a as (${Pe("case when t.cancel_requested_at is null then 'handed_over' else 'cancelled' end","case when t.cancel_requested_at is null then $4 else 'cancelled' end","$5")})
     select handler from t`,[e.taskId,e.attempt,e.workerId,n.reason,n.detail],r))[0]??null}async function it(t,e,n,r){return(await t.run(`with t as (
       update foothold.tasks set status = 'waiting', worker_id = null, claim_id = null, waiting_for = $5,
         wake_at = least(foothold.clock() + $6::float8 * interval '1 ms', case when $5 = 'retry' or deadline_ms is null then deadline_at end),
         last_reason = coalesce($7, last_reason), retry_count = retry_count + $9,
         deadline_at = case when $5 <> 'retry' and deadline_ms is not null then null else deadline_at end
       where ${Re} and wake_seq = $4 and cancel_requested_at is null
       returning id, attempt, claimed_at),
     s as (
       insert into foothold.agent_steps (task_id, key, kind, status, attempt, worker_id, due_at, started_at)
       select t.id, v.key, v.kind, 'waiting', t.attempt, $3, foothold.clock() + v.due_in_ms * interval '1 ms', foothold.clock()
       from t, unnest($10::text[], $11::text[], $12::float8[]) v(key, kind, due_in_ms)
       on conflict (task_id, key) do nothing),
     a as (${Pe("'waiting'","$7","$8")})
     select 1 from t`,[e.taskId,e.attempt,e.workerId,n.wakeSeqSeen,n.waitingFor,n.wakeInMs,n.reason,n.detail,n.failures,n.branches.map(s=>s.key),n.branches.map(s=>s.kind),n.branches.map(s=>s.dueInMs)],r)).length>0}async function fo(t,e,n){return(await t.run(`with t as (
       update foothold.tasks set status = 'cancelled', worker_id = null, claim_id = null, last_reason = 'cancelled', finished_at = foothold.clock()
       where ${Re} and cancel_requested_at is not null returning id, attempt, claimed_at),
     a as (${Pe("'cancelled'","'cancelled'","null")})
     select 1 from t`,[e.taskId,e.attempt,e.workerId],n)).length>0}var Ft=`${jr},
  insert_follow_up as (
    insert into foothold.tasks (id, agent, handler, status, priority, run_at, tenant, parent_id, input_checked, deadline_ms, created_at)
    select foothold.new_id(), t.agent || '/dead_letter', t.handler || '/dead_letter', 'pending', 0, foothold.clock(), t.tenant, t.id, t.input_checked, a.deadline_ms, foothold.clock()
    from dead join foothold.tasks t on t.id = dead.id join foothold.agents a on a.handler = t.handler
    where a.has_dead_letter_handler
    returning id, parent_id, handler),
  insert_follow_up_payload as (
    insert into foothold.task_payloads (task_id, input)
    select f.id, json_build_object('input', p.input, 'deadLetter', json_build_object('id', dead.id, 'reason', dead.reason, 'error', dead.error))
    from insert_follow_up f join dead on dead.id = f.parent_id join foothold.task_payloads p on p.task_id = dead.id)`;async function mo(t,e,n,r){let s=(await t.run(`with t as (
       update foothold.tasks set status = 'dead_letter', worker_id = null, claim_id = null, last_reason = $4,
         retry_count = retry_count + $7, finished_at = foothold.clock()
       where ${Re} and cancel_requested_at is null returning id, attempt, claimed_at),
     p as (update foothold.task_payloads p set error = $5::json from t where p.task_id = t.id),
     a as (${Pe("'dead_letter'","$4","$6")}),
     dead as (select id, $4::text as reason, $5::json as error from t),
     ${Ft}
     select exists (select 1 from t) as held, coalesce((select array_agg(handler) from insert_follow_up), '{}') as handlers`,[e.taskId,e.attempt,e.workerId,n.reason,n.error,n.detail,n.failures],r))[0];return s.held?s.handlers:null}async function C(t,e,n){e.length!==0&&await t.run(`select pg_notify('${so}', h) from unnest($1::text[]) h`,[[...new Set(e)]],n)}var Le=1e3,kl=20;function po(t){let{db:e,workerId:n,logger:r,onError:o}=t,s=Le,a=new Set,i=z({name:"promote",next:()=>s,jitterRatio:.1,onError(l){s=Le,o(l)},async run(l){let{handlers:d,count:u,nextInMs:c,hasTenantPauses:m}=await to(e);s=Math.min(Le,c??Le),m&&await _l(e,n(),l),u!==0&&(r.debug({tasks:u},"waiting tasks are due"),await C(e,d,{doing:"announcing due tasks",patienceMs:0}))}});return{expect(l){if(l===null||l>Le)return;let d=setTimeout(()=>{a.delete(d),i.wake()},l+1);a.add(d)},wake:()=>i.wake(),async stop(){for(let l of a)clearTimeout(l);await i.stop()}}}async function _l(t,e,n){for(let r=0;r<kl&&!n.aborted;r+=1){let o=await pn(t,e),s=await hn(t);if(await C(t,s.handlers,{doing:"announcing tasks of a pause that is over",patienceMs:0}),o===0&&s.count===0)return}}var bl=200,Sl=10;async function ho(t){let e=await Tl(t);return e.length===0?{swept:[],followUps:[]}:Al(t,e)}async function Tl(t){return t.run(`select t.id, t.attempt, t.worker_id as "workerId",
            coalesce(w.lost_while, 'active') = 'active' and coalesce(w.status, 'lost') = 'lost' as "isCrash",
            coalesce(w.lost_running, (select count(*) from foothold.tasks o where o.worker_id = t.worker_id and o.status = 'processing')) <= 1 as "isAlone",
            exists (select 1 from foothold.agent_steps s where s.task_id = t.id and s.attempt = t.attempt and s.status = 'completed') as "hasProgress",
            'worker ' || t.worker_id || case when w.id is null then ' is not registered'
              when w.status = 'stopped' then ' stopped without handing over'
              else ' was lost while ' || coalesce(w.lost_while, 'active') end
            || coalesce(', after step ' || (select s.key from foothold.agent_steps s where s.task_id = t.id and s.status = 'completed'
                                            order by s.finished_at desc limit 1), ', before any step was stored') as detail
     from foothold.tasks t left join foothold.workers w on w.id = t.worker_id
     where t.status = 'processing' and (w.id is null or w.status in ('lost', 'stopped'))
     order by t.id limit $1`,[bl],{doing:"looking for orphans",patienceMs:0})}async function Al(t,e){return(await t.run(`with v as materialized (
       select * from unnest($1::uuid[], $2::int[], $3::text[], $4::boolean[], $5::boolean[], $6::boolean[], $7::text[])
         v(id, attempt, worker_id, is_crash, is_alone, has_progress, detail)),
     l as materialized (
       select t.id, t.attempt, t.worker_id, t.crash_count, t.crashes_total, t.max_crashes, t.cancel_requested_at is not null as is_cancelled
       from foothold.tasks t
       where t.id = any($1::uuid[]) and t.status = 'processing' and (t.id, t.attempt, t.worker_id) in (select id, attempt, worker_id from v)
       order by t.id for no key update skip locked),
     counted as materialized (
       select l.*, v.is_crash, v.detail,
         case when not v.is_crash then l.crash_count
              when v.is_alone then b.base + 1
              else greatest(b.base, least(b.base + 1, l.max_crashes - 1)) end as new_crash_count
       from l join v using (id, attempt, worker_id)
         cross join lateral (select case when v.has_progress then 0 else l.crash_count end as base) b),
     decided as materialized (
       select *, case when is_cancelled then 'cancelled'
                      when is_crash and (new_crash_count >= max_crashes or crashes_total + 1 >= $8) then 'dead_letter'
                      else 'pending' end as outcome
       from counted),
     t as (
       update foothold.tasks t set status = d.outcome, worker_id = null, claim_id = null,
         crash_count = d.new_crash_count, crashes_total = t.crashes_total + d.is_crash::int,
         handover_count = t.handover_count + (not d.is_crash)::int,
         suspect = t.suspect or d.new_crash_count >= 2,
         last_reason = case when d.outcome = 'cancelled' then 'cancelled' else 'orphaned' end,
         finished_at = case when d.outcome = 'pending' then null else foothold.clock() end
       from decided d where t.id = d.id
       returning t.id, t.attempt, t.agent, t.handler, t.claimed_at, d.worker_id, d.outcome, d.detail, d.new_crash_count),
     a as (
       insert into foothold.attempts (task_id, attempt, worker_id, started_at, ended_at, outcome, reason, detail)
       select id, attempt, worker_id, claimed_at, foothold.clock(),
              case outcome when 'pending' then 'orphaned' else outcome end,
              case outcome when 'cancelled' then 'cancelled' else 'orphaned' end, detail from t
       on conflict do nothing),
     dead as (
       select id, 'orphaned'::text as reason,
              json_build_object('code', 'ORPHANED', 'message', 'The task cost its worker its life ' || new_crash_count || ' times: ' || detail) as error
       from t where outcome = 'dead_letter'),
     p as (update foothold.task_payloads p set error = dead.error from dead where p.task_id = dead.id),
     ${Ft}
     select coalesce(json_agg(json_build_object('id', id, 'agent', agent, 'handler', handler, 'outcome', outcome, 'workerId', worker_id, 'crashCount', new_crash_count)), '[]') as swept,
            coalesce((select array_agg(handler) from insert_follow_up), '{}') as "followUps"
     from t`,[e.map(r=>r.id),e.map(r=>r.attempt),e.map(r=>r.workerId),e.map(r=>r.isCrash),e.map(r=>r.isAlone),e.map(r=>r.hasProgress),e.map(r=>r.detail),Sl],{doing:"returning orphans",patienceMs:0}))[0]}var xl=500;function yo(t){let{db:e,heartbeatMs:n,leaseMs:r,logger:o,meter:s,onError:a}=t;return z({name:"reap",everyMs:Math.min(xl,r/4),jitterRatio:.2,onError:a,async run(){let i=await lo(e,{workerId:t.workerId(),heartbeatMs:n,leaseMs:r});s.workersLost(i.length);for(let{id:c}of i)o.warn({worker:t.workerId(),lost:c},"worker lost");let{swept:l,followUps:d}=await ho(e);for(let c of l)s.orphanTaken(c.agent,c.outcome),o.warn({task:c.id,worker:t.workerId(),lost:c.workerId,reason:"orphaned",outcome:c.outcome,crashes:c.crashCount},"orphan swept");let u=l.filter(c=>c.outcome==="pending").map(c=>c.handler);await C(e,[...u,...d],{doing:"announcing orphans",patienceMs:0})}})}var El=[.05,.1,.25,.5,1,2,3,5,7,10,15,20,25,30,60,120,300],vl=[.005,.01,.025,.05,.1,.25,.5,1,2.5,5,10,30,60,120,300,900],Ml=[.001,.005,.01,.025,.05,.1,.25,.5,1,2.5,5,10,30],k={tasksSubmitted:{name:"foothold_tasks_submitted_total",type:"counter",labels:["agent"],help:"Tasks that this process submitted; a dedupe key that gave an existing one is not counted."},tasksClaimed:{name:"foothold_tasks_claimed_total",type:"counter",labels:["agent"],help:"Attempts that this process began."},attemptsEnded:{name:"foothold_attempts_ended_total",type:"counter",labels:["agent","reason"],help:"Attempts that this process ended, by reason; none is a plain wait. Orphans count where they were swept."},handovers:{name:"foothold_handovers_total",type:"counter",labels:["agent"],help:"Tasks that this process gave back unfinished and free of charge."},orphans:{name:"foothold_orphans_total",type:"counter",labels:["outcome"],help:"Tasks that this process took from lost workers, by what became of them."},workersLost:{name:"foothold_workers_lost_total",type:"counter",labels:[],help:"Workers that this process declared lost."},deadLetters:{name:"foothold_dead_letters_total",type:"counter",labels:["agent","reason"],help:"Tasks that this process made a dead letter."},recovery:{name:"foothold_recovery_seconds",type:"histogram",labels:["cause"],buckets:El,help:"From a handover, or from the last heartbeat of a worker that was lost, to the claim by this process."},stepDuration:{name:"foothold_step_duration_seconds",type:"histogram",labels:["agent","kind"],buckets:vl,help:"Tries that gave a result, until it was stored."},stepFailures:{name:"foothold_step_failures_total",type:"counter",labels:["agent","reason"],help:"Tries of steps that failed, by reason; most are tried again."},modelTokens:{name:"foothold_model_tokens_total",type:"counter",labels:["agent","model","direction","fate"],help:"Tokens paid for: kept with a stored result, or wasted by a try that gave none. A killed process cannot tell."},workers:{name:"foothold_worker_status",type:"gauge",labels:["status"],help:"Workers of this process in each status."},workerInfo:{name:"foothold_worker_info",type:"gauge",labels:["release"],help:"Workers of this process that have not stopped, by the release they run."},workerSlots:{name:"foothold_worker_slots",type:"gauge",labels:[],help:"Tasks that the workers of this process may run at once."},workerSlotsInUse:{name:"foothold_worker_slots_in_use",type:"gauge",labels:[],help:"Tasks that the workers of this process run now."},heartbeatAge:{name:"foothold_worker_heartbeat_age_seconds",type:"gauge",labels:[],help:"Since the last heartbeat that the database confirmed; the oldest of the workers of this process."},eventLoopLag:{name:"foothold_event_loop_lag_seconds",type:"histogram",labels:[],buckets:Ml,help:"How much later than due a timer of this process ran, looked at four times a second."},databaseUp:{name:"foothold_database_up",type:"gauge",labels:[],help:"Whether the database answered when it was last asked for the gauges below."},tasks:{name:"foothold_tasks",type:"gauge",labels:["agent","status"],help:"Tasks that have not ended, and dead letters, in the whole system; counted up to 10000 for each status."},queueOldest:{name:"foothold_queue_oldest_seconds",type:"gauge",labels:["agent"],help:"For how long the oldest pending task has been ready to run, in the whole system."},systemWorkers:{name:"foothold_workers",type:"gauge",labels:["status"],help:"Workers with a good lease in the whole system."}};async function go(t){let e=(r,o="order by id")=>`(select id, agent, status, attempt, run_at from foothold.tasks where status = '${r}' ${o} limit 10000)`;return(await t.run(`with live as materialized (
       ${e("pending")} union all ${e("waiting")} union all ${e("processing","")} union all ${e("dead_letter")}),
     tasks as (select agent, status, count(*)::int as count from live group by agent, status),
     queues as (
       select l.agent, greatest(0, extract(epoch from foothold.clock() - min(greatest(l.run_at, r.ended_at, r.woken_at, r.signalled_at))))::float8 as seconds
       from live l left join lateral (
         select (select a.ended_at from foothold.attempts a where a.task_id = l.id and a.attempt = l.attempt) as ended_at,
                (select max(coalesce(s.finished_at, case when s.due_at <= foothold.clock() then s.due_at end))
                 from foothold.agent_steps s where s.task_id = l.id) as woken_at,
                (select max(g.created_at) from foothold.signals g where g.task_id = l.id and g.consumed_by is null) as signalled_at
       ) r on l.attempt > 0
       where l.status = 'pending' group by l.agent),
     workers as (
       select status, count(*)::int as count from foothold.workers
       where status in ('active', 'draining') and lease_until > foothold.clock() group by status)
     select coalesce((select json_agg(distinct name) from foothold.agents), '[]') as agents,
            coalesce((select json_agg(tasks) from tasks), '[]') as tasks,
            coalesce((select json_agg(queues) from queues), '[]') as queues,
            coalesce((select json_agg(workers) from workers), '[]') as workers`,[],{doing:"reading the gauges",patienceMs:0}))[0]}var $l="other",R=class{#t;#e;constructor(e){this.#t=e,this.#e=new lt(e,2e3,()=>({value:0}))}add(e,n=1){this.#e.at(e).value+=n}expect(e){this.#e.at(e)}family(){let e=this.#e.map((n,{value:r})=>[{name:this.#t.name,labels:n,value:r}]);return jt(this.#t,e)}},te=class{#t;#e;#n;constructor(e){this.#t=e;let n=e.buckets??[];this.#e=n,this.#n=new lt(e,200,()=>({counts:n.map(()=>0),sum:0,count:0}))}observe(e,n){let r=this.#n.at(e),o=this.#e.findIndex(s=>n<=s);o>=0&&(r.counts[o]=r.counts[o]+1),r.sum+=n,r.count+=1}expect(e){this.#n.at(e)}family(){let{name:e}=this.#t,n=this.#n.map((r,{counts:o,sum:s,count:a})=>{let i=0;return[...this.#e.map((d,u)=>(i+=o[u],{name:`${e}_bucket`,labels:{...r,le:String(d)},value:i})),{name:`${e}_bucket`,labels:{...r,le:"+Inf"},value:a},{name:`${e}_sum`,labels:r,value:s},{name:`${e}_count`,labels:r,value:a}]});return jt(this.#t,n)}};function P(t,e){let n=e.map(([r,o])=>({name:t.name,labels:wo(t,r),value:o}));return jt(t,n)}var lt=class{#t=new Map;#e;#n;#s;constructor(e,n,r){this.#e=e,this.#n=n,this.#s=r,e.labels.length===0&&this.at([])}at(e){let n=e.join("\0"),r=this.#t.get(n);if(r!==void 0)return r.series;let o=this.#t.size>=this.#n,s=this.#e.labels.map(()=>$l);if(o&&n!==s.join("\0"))return this.at(s);let a=this.#s();return this.#t.set(n,{labels:wo(this.#e,e),series:a}),a}map(e){return[...this.#t.values()].flatMap(({labels:n,series:r})=>e(n,r))}};function wo({labels:t},e){return Object.fromEntries(t.map((n,r)=>[n,e[r]??""]))}function jt({name:t,help:e,type:n,labels:r},o){return{name:t,help:e,type:n,labels:r,samples:o}}var Il=5e3,Ol=2e3,Dl=["pending","processing","waiting","dead_letter"],Rl=["active","draining"];function ko(t){let e=Number.NEGATIVE_INFINITY,n=Promise.resolve(null);function r(){return performance.now()-e<Il||(e=performance.now(),n=Pl(Ol,go(t))),n}return{async families(){let o=await r();if(o===null)return{families:[P(k.databaseUp,[[[],0]])],agents:[]};let s=[...new Set([...o.agents,...o.tasks.map(({agent:l})=>l)])],a=(l,d)=>o.tasks.find(u=>u.agent===l&&u.status===d)?.count??0,i=l=>o.queues.find(d=>d.agent===l)?.seconds??0;return{agents:o.agents,families:[P(k.databaseUp,[[[],1]]),P(k.tasks,s.flatMap(l=>Dl.map(d=>[[l,d],a(l,d)]))),P(k.queueOldest,s.map(l=>[[l],i(l)])),P(k.systemWorkers,Rl.map(l=>[[l],o.workers.find(d=>d.status===l)?.count??0]))]}}}}async function Pl(t,e){let n,r=new Promise(o=>{n=setTimeout(()=>o(null),t)});try{return await Promise.race([e.catch(()=>null),r])}finally{clearTimeout(n)}}var _o=250;function bo(){let t=new te(k.eventLoopLag),e=performance.now(),n=setInterval(()=>{let r=performance.now();t.observe([],Math.max(0,r-e-_o)/1e3),e=r},_o).unref();return{family:()=>t.family(),stop:()=>clearInterval(n)}}var So="text/plain; version=0.0.4; charset=utf-8";function To(t){return t.filter(({samples:e})=>e.length>0).map(({name:e,help:n,type:r,samples:o})=>`# HELP ${e} ${Ao(n)}
# TYPE ${e} ${r}
${o.map(Nl).join("")}`).join("")}function Nl({name:t,labels:e,value:n}){let r=Object.entries(e).map(([o,s])=>`${o}="${Ao(s).replaceAll('"','\\"')}"`);return`${t}${r.length===0?"":`{${r.join(",")}}`} ${Ll(n)}
`}function Ao(t){return t.replaceAll("\\","\\\\").replaceAll(`
`,"\\n")}function Ll(t){return Number.isFinite(t)?String(t):Number.isNaN(t)?"NaN":t>0?"+Inf":"-Inf"}var Eo="none",Cl=["step","transaction","effect"],Fl=["pending","dead_letter","cancelled"],jl=["new","active","draining"],Ul=["handed_over","orphaned"],dt=class{#t=new R(k.tasksSubmitted);#e=new R(k.tasksClaimed);#n=new R(k.attemptsEnded);#s=new R(k.handovers);#a=new R(k.orphans);#r=new R(k.workersLost);#d=new R(k.deadLetters);#p=new te(k.recovery);#l=new te(k.stepDuration);#u=new R(k.stepFailures);#o=new R(k.modelTokens);#c=new Set;constructor(){for(let e of Fl)this.#a.expect([e]);for(let e of Ul)this.#p.expect([e])}watch(e,n){this.#c.add(e);for(let{agent:r,reasons:o}of n){this.#e.expect([r]),this.#s.expect([r]);for(let s of Cl)this.#l.expect([r,s]);this.#n.expect([r,Eo]);for(let s of[...Oe,...o])this.#n.expect([r,s]),this.#d.expect([r,s]),this.#u.expect([r,s])}}knows(e){for(let n of e)this.#t.expect([n])}submitted(e){this.#t.add([e])}claimed(e,n){this.#e.add([e]),n!==null&&this.#p.observe([n.cause],Math.max(0,n.seconds))}attemptEnded(e,n){this.#n.add([e,xo(n)]),n.kind==="handed_over"&&this.#s.add([e]),n.kind==="dead_letter"&&this.#d.add([e,xo(n)])}orphanTaken(e,n){this.#a.add([n]);let r=n==="pending"?"lost":n;this.attemptEnded(e,{kind:r,reason:n==="cancelled"?"cancelled":"orphaned"})}workersLost(e){this.#r.add([],e)}stepStored(e,n,r){this.#l.observe([e,n],r)}stepFailed(e,n){this.#u.add([e,n])}tokens(e,{model:n,inputTokens:r,outputTokens:o},s){let a=[["input",r],["output",o]];for(let[i,l]of a){for(let d of["kept","wasted"])this.#o.expect([e,n,i,d]);l>0&&this.#o.add([e,n,i,s],l)}}families(){return[this.#t.family(),this.#e.family(),this.#n.family(),this.#s.family(),this.#a.family(),this.#r.family(),this.#d.family(),this.#p.family(),this.#l.family(),this.#u.family(),this.#o.family(),...this.#i()]}#i(){for(let s of this.#c)s.status==="stopped"&&this.#c.delete(s);let e=[...this.#c],n=[...new Set(e.map(({release:s})=>s))],r=e.flatMap(({heartbeatAgeMs:s})=>s===null?[]:[s/1e3]),o=s=>e.filter(s).length;return[P(k.workers,jl.map(s=>[[s],o(a=>a.status===s)])),P(k.workerInfo,n.map(s=>[[s],o(a=>a.release===s)])),P(k.workerSlots,[[[],e.reduce((s,{concurrency:a})=>s+a,0)]]),P(k.workerSlotsInUse,[[[],e.reduce((s,{running:a})=>s+a,0)]]),P(k.heartbeatAge,r.length===0?[]:[[[],Math.max(...r)]])]}};function xo({kind:t,reason:e=null}){switch(t){case"completed":case"cancelled":return t;case"waiting":return e??Eo;case"lost":return e??"lease_lost";case"handed_over":return e??"graceful_shutdown";case"dead_letter":return e??"step_failed"}}function vo(t){let e=new dt,n=bo(),r=ko(t),o=new WeakSet,s=null;async function a(){let{families:l,agents:d}=await r.families();return e.knows(d),[...e.families(),n.family(),...l]}function i(){return s??=a().finally(()=>{s=null}),s}return{meter:e,mergeInto(l){if(!o.has(l)){for(let d of Object.values(k)){let{name:u,help:c,type:m,labels:h}=d;Wl(l,{name:u,help:c,type:m,labelNames:h,get:async()=>{let{samples:g=[]}=(await i()).find(_=>_.name===u)??{},w=g.map(_=>({metricName:_.name,labels:_.labels,value:_.value}));return{name:u,help:c,type:m,values:w,aggregator:"sum"}},reset:()=>{}})}o.add(l)}},async exposition(){return{contentType:So,text:To(await i())}},stop:()=>n.stop()}}function Wl(t,e){try{t.registerMetric(e)}catch(n){throw new f("INVALID_ARGUMENT",{field:"registry",problem:`it does not take ${e.name}`,cure:"Give a Registry of prom-client 15, and each connection one of its own."},{cause:n})}}import{createHash as ql,timingSafeEqual as Hl}from"node:crypto";import{createServer as Gl}from"node:http";function Ut(t){let e=t.toLowerCase().replace(/^\[(.*)\]$/,"$1").replace(/\.$/,"");return e==="localhost"||e==="::1"||/^(?:::ffff:)?127(?:\.\d{1,3}){3}$/.test(e)}var Io="127.0.0.1";function Oo({port:t,host:e=Io,token:n}){if(!Number.isInteger(t)||t<0||t>65535)throw ut("port",`${String(t)} is not a whole number from 0 to 65535`);if(n!==void 0&&!/^[\x21-\x7e]+$/.test(n))throw ut("token",n===""?"it is empty":"it contains spaces or characters outside of ASCII","Use a long random one, for example from `openssl rand -hex 32`.");if(n===void 0&&!Ut(e))throw ut("host",`${JSON.stringify(e)} can be reached from other machines, and no token is set`,"Set `operations.token` (for example from `openssl rand -hex 32`), or listen on 127.0.0.1.")}async function Do(t,e){let{port:n,host:r=Io,token:o=null}=t,s=Gl((i,l)=>{Kl(i,o,e).then(d=>$o(l,i,d),()=>$o(l,i,{status:500,text:`the metrics could not be collected
`}))});await Bl(s,r,n);let a=s.address().port;return{url:`http://${r.includes(":")?`[${r}]`:r}:${a}`,close:()=>new Promise(i=>{s.close(()=>i()),s.closeAllConnections()})}}async function Kl(t,e,n){let r=(t.url??"/").split("?",1)[0];if(r!=="/healthz"&&r!=="/readyz"&&r!=="/metrics")return{status:404,text:`here are /healthz, /readyz and /metrics
`};if(t.method!=="GET"&&t.method!=="HEAD")return{status:405,text:`GET only
`,headers:{allow:"GET, HEAD"}};switch(r){case"/healthz":return{status:200,text:`ok
`};case"/readyz":{let o=n.notReady();return o===null?{status:200,text:`ready
`}:{status:503,text:`${o}
`}}case"/metrics":{let o=Vl(t,e);if(o!==null)return o;let{contentType:s,text:a}=await n.exposition();return{status:200,text:a,contentType:s}}}}function Vl({headers:t},e){if(e===null){let r=(t.host??"").replace(/:\d+$/,"");return Ut(r)?null:{status:403,text:`without a token only loopback names are served
`}}let n=/^Bearer +(\S+) *$/i.exec(t.authorization??"")?.[1];return n!==void 0&&Hl(Mo(n),Mo(e))?null:{status:401,text:"send the header `Authorization: Bearer <token>`\n",headers:{"www-authenticate":'Bearer realm="foothold"'}}}function Mo(t){return ql("sha256").update(t).digest()}function $o(t,{method:e},n){let{status:r,text:o,contentType:s="text/plain; charset=utf-8",headers:a={}}=n;t.writeHead(r,{"content-type":s,"cache-control":"no-store",...a}),t.end(e==="HEAD"?void 0:o)}function Bl(t,e,n){return new Promise((r,o)=>{t.once("error",s=>{if(s.code===void 0)return o(s);let a=s.code==="EADDRINUSE"?"is taken by another process":`cannot be used (${s.code})`;o(ut("port",`${n} on ${e} ${a}`,"Use another port, or 0 for any free one.",s))}),t.listen(n,e,()=>{t.removeAllListeners("error"),t.on("error",()=>{}),t.unref(),r()})})}function ut(t,e,n,r){let o={field:`operations.${t}`,problem:e,...n===void 0?{}:{cure:n}};return new f("INVALID_ARGUMENT",o,r===void 0?{}:{cause:r})}import Xl from"pg";var zl=/^(08...|57P0[1-5]|40001|40P01|55P03|0A000|26000|42P05|53...|25006)$/,Jl=/^(21|22|23|42|54|44|2F|38|39|3D|3F|28|0L|0P)/;function me(t){let e=pe(t);return e===null||zl.test(e)?"away":Jl.test(e)?"ours":"strange"}function pe(t){if(typeof t!="object"||t===null||!("code"in t))return null;let{code:e}=t;return typeof e=="string"&&/^[0-9A-Z]{5}$/.test(e)&&/\d/.test(e)?e:null}function he(t){return/^(21|22|23|54)/.test(pe(t)??"")}var Yl=1e4,Ql=5e3,Zl=20,ed=1e3,td=3;function Ro({url:t,poolSize:e,onTrouble:n}){let r=new Xl.Pool({connectionString:t,max:e,query_timeout:Yl,connectionTimeoutMillis:Ql,keepAlive:!0,allowExitOnIdle:!0,application_name:"foothold"});r.on("error",s=>n?.(s)),r.on("connect",s=>s.on("error",a=>n?.(a)));let o;return{async run(s,a,i){let{doing:l,patienceMs:d=3e4,signal:u}=i,c=Date.now(),m=0;for(let h=0;;h+=1){if(u?.throwIfAborted(),o!==void 0)throw new f("CLOSED",{});try{return(await r.query(s,a)).rows}catch(p){let y=me(p);if(y==="ours"||y==="strange"&&(m+=1,m>=td))throw p;let g=Date.now()-c;if(g>=d)throw new f("DATABASE_UNAVAILABLE",{doing:l,waitedMs:g},{cause:p});h===0&&n?.(p),await D(nd(h),u)}}},checkOut:()=>r.connect(),close(){return o??=r.end(),o}}}function nd(t){let e=Math.min(ed,Zl*2**Math.min(t,16));return e/2+Math.random()*e/2}import{createHash as rd}from"node:crypto";import{Socket as od}from"node:net";import sd from"pg";var ct=[{version:1,name:"core",breaking:!1,sql:`-- Tasks, their steps, attempts and signals, and the workers that run them.
-- No foreign keys between hot tables: every one would lock the task row a second time at each step.

-- The one clock of every statement. clock_timestamp(), not now(): after a lock wait now() lies in the past.
-- Tests move time by replacing this function.
create function foothold.clock() returns timestamptz language sql volatile as 'select clock_timestamp()';

-- UUID version 7 (RFC 9562) from the clock and random bits; PostgreSQL has its own only from 18 on.
create function foothold.new_id() returns uuid language sql volatile as $$
  select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
    52, 1), 53, 1), 'hex')::uuid
$$;

-- What workers can run, so that producers in other processes can submit by name.
create table foothold.agents (
  handler text primary key,
  name text not null,
  version int not null,
  deadline_ms int not null,
  has_dead_letter_handler boolean not null,
  registered_at timestamptz not null
);

create table foothold.tasks (
  id uuid primary key,
  agent text not null,
  -- agent@version of the code it may run on
  handler text not null,
  status text not null check (status in ('pending', 'processing', 'waiting', 'completed', 'cancelled', 'dead_letter')),
  priority smallint not null default 1,
  run_at timestamptz not null,
  tenant text not null default '',
  -- false: submitted by name; the worker that runs it checks the input
  input_checked boolean not null default true,
  -- grows by one at every claim, never resets, fences every write
  attempt int not null default 0,
  claim_id uuid,
  worker_id text,
  claimed_at timestamptz,
  retry_count int not null default 0,
  crash_count int not null default 0,
  crashes_total int not null default 0,
  handover_count int not null default 0,
  max_crashes smallint not null default 3,
  last_reason text,
  suspect boolean not null default false,
  waiting_for text,
  wake_at timestamptz,
  wake_seq int not null default 0,
  cancel_requested_at timestamptz,
  cancel_reason text,
  parent_id uuid,
  -- null deadline_ms: deadline_at was given by the producer and stays
  deadline_ms int,
  deadline_at timestamptz,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  check ((status = 'processing') = (worker_id is not null))
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- The claim's. It never tests the clock: what is due later is waiting, not pending.
create index tasks_pending on foothold.tasks (handler, priority, run_at, id) where status = 'pending' and not suspect;
create index tasks_suspect on foothold.tasks (handler, run_at, id) where status = 'pending' and suspect;
create index tasks_of_worker on foothold.tasks (worker_id) where status = 'processing';
create index tasks_waking on foothold.tasks (wake_at) where status = 'waiting' and wake_at is not null;
create index tasks_dead_letters on foothold.tasks (id) where status = 'dead_letter';
-- For the lists that people read.
create index tasks_of_tenant on foothold.tasks (tenant, id) where tenant <> '';
create index tasks_unfinished on foothold.tasks (status, id) where status in ('pending', 'waiting');

create table foothold.task_payloads (
  task_id uuid primary key,
  input json not null,
  output json,
  error json
);

create table foothold.dedupe (
  agent text not null,
  tenant text not null,
  key text not null,
  task_id uuid not null,
  body_hash text not null,
  expires_at timestamptz not null,
  primary key (agent, tenant, key)
);

-- fillfactor 50 and no index on what a heartbeat changes: each heartbeat is one HOT update.
create table foothold.workers (
  id text primary key,
  release text not null,
  handlers text[] not null,
  concurrency int not null,
  status text not null check (status in ('active', 'draining', 'stopped', 'lost')),
  -- the status it had when it was declared lost: dying while draining is no crash
  lost_while text,
  -- how many tasks it was running then: only a crash alone may take a task's last one
  lost_running int,
  started_at timestamptz not null,
  last_heartbeat_at timestamptz not null,
  -- its own: during a deploy that changes it two lengths are in use
  lease_ms int not null,
  lease_until timestamptz not null,
  -- since when its own heartbeats came in time: only a steady worker may declare another one lost
  steady_since timestamptz not null,
  running int not null default 0
) with (fillfactor = 50);

create table foothold.agent_steps (
  task_id uuid not null,
  key text not null,
  kind text not null check (kind in ('step', 'transaction', 'effect', 'sleep', 'signal', 'run')),
  version int not null default 1,
  status text not null check (status in ('intent', 'waiting', 'failed', 'completed', 'unknown')),
  tries int not null default 0,
  -- false: a failed step that no further try will help
  retryable boolean not null default true,
  attempt int not null,
  worker_id text not null,
  idempotency_key text,
  -- definite refusals so far; part of the idempotency key
  refusals int not null default 0,
  request json,
  output json,
  error json,
  usage json,
  -- the end of a wait or a back-off
  due_at timestamptz,
  -- until then a request in flight may still arrive at the receiver
  doubt_until timestamptz,
  started_at timestamptz not null,
  finished_at timestamptz,
  primary key (task_id, key)
);

create table foothold.attempts (
  task_id uuid not null,
  attempt int not null,
  worker_id text not null,
  started_at timestamptz not null,
  ended_at timestamptz not null,
  outcome text not null check (outcome in ('completed', 'handed_over', 'waiting', 'orphaned', 'cancelled', 'dead_letter')),
  reason text,
  detail text,
  primary key (task_id, attempt)
);

create table foothold.signals (
  id bigint generated always as identity primary key,
  task_id uuid not null,
  name text not null,
  payload json not null,
  dedupe_key text,
  consumed_by text,
  created_at timestamptz not null,
  unique (task_id, name, dedupe_key)
);
create index signals_unconsumed on foothold.signals (task_id) where consumed_by is null;

create table foothold.stream_chunks (
  id bigint generated always as identity primary key,
  task_id uuid not null,
  key text not null,
  attempt int not null,
  tries int not null,
  -- counts within one try of one step: makes a repeated insert harmless
  seq int not null,
  channel text not null,
  chunk json not null,
  created_at timestamptz not null,
  unique (task_id, key, attempt, tries, seq)
);
create index stream_chunks_of_task on foothold.stream_chunks (task_id, id);

-- The contract for people and other languages; the tables may change, these stay.
create view foothold.task_view as
  select id, agent, handler, status, case priority when 0 then 'live' when 1 then 'normal' else 'batch' end as priority,
         nullif(tenant, '') as tenant, attempt, worker_id, last_reason, waiting_for, wake_at,
         retry_count, crash_count, handover_count, cancel_requested_at, parent_id, deadline_at,
         created_at, started_at, finished_at
  from foothold.tasks;
create view foothold.attempt_view as
  select task_id, attempt, worker_id, started_at, ended_at, outcome, reason, detail from foothold.attempts;
create view foothold.worker_view as
  select id, release, handlers, concurrency, status, running, started_at, last_heartbeat_at, lease_until
  from foothold.workers;
`},{version:2,name:"alerts",breaking:!1,sql:`-- On-call is told of dead letters. The alert is written by the statement that makes the dead letter, so that no crash
-- lies between the two; grouping, counting and sending come later, in statements of their own.

create table foothold.alerts (
  task_id uuid not null,
  attempt int not null,
  agent text not null,
  reason text not null,
  at timestamptz not null,
  -- null until a worker has put it in a group; nothing else of a row ever changes
  group_id bigint,
  primary key (task_id, attempt)
);
create index alerts_ungrouped on foothold.alerts (at) where group_id is null;
create index alerts_of_group on foothold.alerts (group_id, task_id) where group_id is not null;

-- What is one message to a person: dead letters of one agent for one reason, without a long pause between them.
create table foothold.alert_groups (
  id bigint generated always as identity primary key,
  agent text not null,
  reason text not null,
  opened_at timestamptz not null,
  last_alert_at timestamptz not null,
  resolved_at timestamptz,
  -- false: what comes now belongs to another group
  takes_alerts boolean not null default true,
  -- grows with every alert that is taken: a look that has not seen it decides nothing
  seq int not null default 1,
  -- grows with what there is to show; 0 until the tasks have been counted
  version int not null default 0,
  -- when its tasks are counted again
  look_at timestamptz not null,
  changed_at timestamptz not null,
  -- since when none of its tasks is a dead letter
  all_left_at timestamptz,
  -- its tasks, and where they stand: still dead letters of this group, on their way again, ended
  tasks int not null default 0,
  standing int not null default 0,
  under_way int not null default 0,
  completed int not null default 0,
  cancelled int not null default 0
);
create unique index alert_groups_taking on foothold.alert_groups (agent, reason) where takes_alerts;
create index alert_groups_open on foothold.alert_groups (look_at) where resolved_at is null;
create index alert_groups_resolved on foothold.alert_groups (resolved_at) where resolved_at is not null;

-- How far one channel has shown one group. The row is claimed by whoever sends, so that there is one sender.
create table foothold.alert_deliveries (
  group_id bigint not null,
  channel text not null,
  -- the channel's own name of its message; null until one was sent and that was stored
  message_ref json,
  version_shown int not null default 0,
  shown_at timestamptz,
  claim_id uuid,
  lease_until timestamptz,
  due_at timestamptz not null,
  -- sends in a row that were begun and whose outcome nobody knows
  doubts int not null default 0,
  failures int not null default 0,
  last_error text,
  primary key (group_id, channel)
);

-- Whether a dead letter's follow-up has told whoever waited.
create index tasks_of_parent on foothold.tasks (parent_id) where parent_id is not null;

create view foothold.alert_group_view as
  select id, agent, reason, opened_at, last_alert_at, resolved_at, tasks, standing, under_way, completed, cancelled
  from foothold.alert_groups;
`},{version:3,name:"sql-functions",breaking:!1,sql:`-- The door for any language: submit, cancel and signal as functions, beside the views a contract. They answer as the
-- TypeScript client does; docs/sql.md says what they promise.
--
-- SECURITY DEFINER, so that a producer's role needs nothing but EXECUTE: it can write no row that these functions would
-- not write, and read no payload. Therefore each pins its search_path, names everything in full, and is nobody's until
-- it is granted. The helpers below them are called by them alone.

-- Class TH: of the classes that the SQL standard leaves to implementations.
create function foothold.refuse(code text, message text, details json) returns void language plpgsql as $$
begin
  raise exception using
    errcode = case code
      when 'INVALID_ARGUMENT' then 'TH001'
      when 'PAYLOAD_TOO_LARGE' then 'TH002'
      when 'VALUE_NOT_STORABLE' then 'TH003'
      when 'AGENT_UNKNOWN' then 'TH004'
      when 'DEDUPE_CONFLICT' then 'TH005'
      when 'TASK_NOT_FOUND' then 'TH006'
      when 'TASK_STATE_CONFLICT' then 'TH007' end,
    message = code || ': ' || message,
    detail = details::text;
end $$;

create function foothold.refuse_argument(field text, problem text, cure text default null) returns void language plpgsql as $$
begin
  perform foothold.refuse('INVALID_ARGUMENT', field || ': ' || problem || '.' || coalesce(' ' || cure, ''),
    json_strip_nulls(json_build_object('field', field, 'problem', problem, 'cure', cure)));
end $$;

create function foothold.check_name(field text, value text) returns void language plpgsql as $$
begin
  if value ~ '^[A-Za-z][A-Za-z0-9_.-]{0,99}$' then return; end if;
  perform foothold.refuse_argument(field, coalesce(to_json(left(value, 120))::text, 'null') || ' is not a name',
    'Use a Latin letter, then letters, digits, "_", "-" or ".", 100 characters at most.');
end $$;

-- Null: none was given.
create function foothold.check_key(field text, value text) returns void language plpgsql as $$
begin
  if value = '' then
    perform foothold.refuse_argument(field, 'it is empty', 'Leave it out, or pass null, where there is none.');
  elsif octet_length(convert_to(value, 'UTF8')) > 512 then
    perform foothold.refuse_argument(field,
      'it takes ' || octet_length(convert_to(value, 'UTF8')) || ' bytes, the limit is 512');
  end if;
end $$;

-- Null: none was given.
create function foothold.check_time(field text, value timestamptz) returns void language plpgsql as $$
begin
  if value < '0001-01-01 00:00:00+00' or value >= '10000-01-01 00:00:00+00' then
    perform foothold.refuse_argument(field, value || ' is not a time in the years 1 to 9999');
  end if;
end $$;

create function foothold.check_payload(field text, value json) returns void language plpgsql as $$
declare
  written constant text := value::text;
  bytes constant int := octet_length(convert_to(written, 'UTF8'));
begin
  if value is null then
    perform foothold.refuse_argument(field, 'it is null', 'For the JSON value pass ''null''::json.');
  elsif bytes > 16777216 then
    perform foothold.refuse('PAYLOAD_TOO_LARGE',
      field || ' takes ' || bytes || ' bytes, the limit is 16777216: store it elsewhere and pass a reference.',
      json_build_object('field', field, 'bytes', bytes, 'bytesMax', 16777216));
  -- Most have fewer brackets than that, so nobody has to look how they are nested.
  elsif length(written) - length(translate(written, '[{', '')) > 500 and (
      select max(level) from (
        select sum(case when bracket[1] in ('[', '{') then 1 when bracket[1] in (']', '}') then -1 else 0 end) over (order by n) as level
        from regexp_matches(written, '"(?:[^"\\\\]|\\\\.)*"|[][{}]', 'g') with ordinality m(bracket, n)) levels) > 500 then
    perform foothold.refuse('VALUE_NOT_STORABLE', field || ' cannot be stored: nesting deeper than 500 levels.',
      json_build_object('field', field, 'path', '$', 'what', 'nesting deeper than 500 levels'));
  end if;
end $$;

-- A number as ECMAScript writes the double next to it; an integer that no double shows becomes the bigint it is read as.
create function foothold.canonical_number(token text) returns text language plpgsql immutable strict as $$
declare
  nearest float8;
  whole text;
  shown text;
  digits text;
  -- the decimal point stands before digit number point + 1
  point numeric;
  shorter text;
  written text;
begin
  if token ~ '^(0|-?[1-9][0-9]{0,14})$' then return token; end if;
  begin
    nearest := abs(token::float8);
    shown := nearest::text;
  exception when numeric_value_out_of_range then
    shown := lower(ltrim(token, '-'));
  end;
  whole := split_part(split_part(shown, 'e', 1), '.', 1);
  digits := ltrim(whole || split_part(split_part(shown, 'e', 1), '.', 2), '0');
  point := length(digits) - length(split_part(split_part(shown, 'e', 1), '.', 2))
    + coalesce(nullif(split_part(shown, 'e', 2), ''), '0')::numeric;
  digits := rtrim(digits, '0');
  if nearest = 0 or digits = '' or (nearest is null and point <= 0) then return '0'; end if;
  -- Of two decimals PostgreSQL leaves out the one that lies exactly between two doubles, though it reads back as the
  -- even one; ECMAScript takes it when it is shorter.
  begin
    while nearest is not null and length(digits) > 1 loop
      shorter := (
        select d::text from unnest(array[trunc(digits::numeric / 10), trunc(digits::numeric / 10) + 1]) d
        where ('0.' || d || 'e' || point + length(d::text) - length(digits) + 1)::float8 = nearest limit 1);
      exit when shorter is null;
      point := point + length(shorter) - length(digits) + 1;
      digits := rtrim(shorter, '0');
    end loop;
  exception when numeric_value_out_of_range then
    -- The greatest double rounded up.
    null;
  end;
  written := case when token ~ '^-' then '-' else '' end || case
    when point between length(digits) and 21 then rpad(digits, point::int, '0')
    when point between 1 and 21 then left(digits, point::int) || '.' || substr(digits, point::int + 1)
    when point between -5 and 0 then '0.' || repeat('0', -point::int) || digits
    else left(digits, 1) || case when length(digits) > 1 then '.' || substr(digits, 2) else '' end
         || 'e' || case when point > 0 then '+' else '-' end || abs(point - 1) end;
  if nearest is null then written := 'null'; end if;
  if token ~ '^-?[0-9]{16,}$' and written <> token then
    return '{"$foothold":"bigint","value":"' || token || '"}';
  end if;
  return written;
end $$;

create function foothold.canonical_node(body json) returns text language plpgsql immutable strict as $$
declare
  kind constant text := json_typeof(body);
  token text;
begin
  if kind = 'object' then
    -- Array indices first and by their value, the others by UTF-16 units: the order of an object's keys in ECMAScript.
    return (
      select '{' || coalesce(string_agg(to_json(m.key)::text || ':' || foothold.canonical_node(m.value), ','
        order by case when m.key ~ '^(0|[1-9][0-9]{0,9})$' and m.key::bigint < 4294967295 then m.key::bigint end nulls last,
          case when m.key collate "C" ~ '[\\uE000-\\U0010FFFF]'
            then regexp_replace(regexp_replace(m.key collate "C", '([\\U00010000-\\U0010FFFF])', chr(1114110) || '\\1', 'g'),
              '([\\uE000-\\uFFFF])', chr(1114111) || '\\1', 'g')
            else m.key end collate "C"), '') || '}'
      -- Of a key that comes twice the last counts.
      from (select distinct on (e.key) e.key, e.value from json_each(body) with ordinality e(key, value, n) order by e.key, e.n desc) m);
  elsif kind = 'array' then
    return (
      select '[' || coalesce(string_agg(foothold.canonical_node(e.value), ',' order by e.n), '') || ']'
      from json_array_elements(body) with ordinality e(value, n));
  end if;
  token := btrim(body::text, E' \\t\\n\\r');
  return case when kind = 'number' then foothold.canonical_number(token)
              when kind = 'string' and strpos(token, '\\') > 0 then token::jsonb::text
              else token end;
end $$;

-- One text for all JSON texts that say the same; to the letter what protocol/canonical-json.ts makes of them.
create function foothold.canonical_json(body json) returns text language plpgsql immutable strict as $$
declare
  -- For the backslash and u of an escape that no text of PostgreSQL can hold: NUL, and half of a surrogate pair.
  stand_in constant text := chr(1114109);
  written text := body::text;
begin
  if written !~* '\\\\u(0000|d[89a-f])' then return foothold.canonical_node(body); end if;
  written := (
    select string_agg(case when m.part[1] ~* '^\\\\u(0000|d[89a-f]..)$' then stand_in || lower(substr(m.part[1], 3)) else m.part[1] end, '' order by m.n)
    from regexp_matches(written, '\\\\u[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\\\u[0-9a-fA-F]{4}|\\\\[^u]|[^\\\\]+', 'g')
      with ordinality m(part, n));
  if written ~ ('"(?:[^"\\\\]|\\\\.)*' || stand_in || '(?:[^"\\\\]|\\\\.)*"\\s*:') or strpos(body::text, stand_in) > 0 then
    perform foothold.refuse('VALUE_NOT_STORABLE',
      'input cannot be compared under a dedupe key: a key of it holds U+0000 or half of a surrogate pair. Use another key, or none.',
      json_build_object('field', 'input', 'path', '$', 'what', 'a key that holds U+0000 or half of a surrogate pair'));
  end if;
  return replace(foothold.canonical_node(written::json), stand_in, '\\u');
end $$;

-- Says at the commit that a task of this handler is pending. A transaction that carries a notice commits alone in the
-- whole server, so of those open at one time only one carries it, and none waits for another: who looks because of it
-- looks again every 50 ms, and finds theirs.
create function foothold.announce(handler text) returns void language plpgsql as $$
begin
  if pg_try_advisory_xact_lock(hashtext('foothold_pending'), hashtext(handler)) then
    perform pg_notify('foothold_pending', handler);
  end if;
end $$;

create function foothold.submit(
  agent text,
  input json,
  dedupe_key text default null,
  priority text default 'normal',
  tenant text default null,
  run_at timestamptz default null,
  deadline_at timestamptz default null,
  out task_id uuid,
  out created boolean
) language plpgsql security definer set search_path = pg_catalog, pg_temp
  -- Of the caller's session, and part of how a body is hashed.
  set extra_float_digits = 1 set standard_conforming_strings = on
as $$
#variable_conflict use_column
declare
  ranks constant text[] := array['live', 'normal', 'batch'];
  rank constant int := array_position(ranks, coalesce(submit.priority, 'normal')) - 1;
  target record;
  hash text;
  taken record;
  at timestamptz;
  is_due boolean;
begin
  perform foothold.check_name('agent', submit.agent);
  perform foothold.check_payload('input', submit.input);
  perform foothold.check_key('dedupe_key', submit.dedupe_key);
  perform foothold.check_key('tenant', submit.tenant);
  if rank is null then
    perform foothold.refuse_argument('priority',
      to_json(left(submit.priority, 100)) || ' is none of ' || array_to_string(ranks, ', '));
  end if;
  perform foothold.check_time('run_at', submit.run_at);
  perform foothold.check_time('deadline_at', submit.deadline_at);
  if submit.deadline_at <= submit.run_at then
    perform foothold.refuse_argument('deadline_at', submit.deadline_at || ' is not after run_at, ' || submit.run_at);
  end if;
  select a.handler, a.deadline_ms into target from foothold.agents a
  where a.name = submit.agent order by a.version desc limit 1;
  if not found then
    declare
      known constant text[] := array(select distinct a.name from foothold.agents a order by a.name limit 200);
    begin
      perform foothold.refuse('AGENT_UNKNOWN',
        'No agent named ' || to_json(submit.agent) || ' is known here. Known: '
          || coalesce(nullif(array_to_string(known, ', '), ''), 'none, start a worker first') || '.',
        json_build_object('agent', submit.agent, 'known', known));
    end;
  end if;

  task_id := foothold.new_id();
  if submit.dedupe_key is not null then
    hash := encode(sha256(convert_to(foothold.canonical_json(submit.input), 'UTF8')), 'hex');
    for round in 1..3 loop
      at := foothold.clock();
      if round = 1 then
        -- A key in use is not locked, so that a long transaction of one producer does not hold up the others.
        insert into foothold.dedupe (agent, tenant, key, task_id, body_hash, expires_at)
        values (submit.agent, coalesce(submit.tenant, ''), submit.dedupe_key, submit.task_id, hash, at + interval '30 days')
        on conflict (agent, tenant, key) do nothing;
      else
        insert into foothold.dedupe as k (agent, tenant, key, task_id, body_hash, expires_at)
        values (submit.agent, coalesce(submit.tenant, ''), submit.dedupe_key, submit.task_id, hash, at + interval '30 days')
        on conflict (agent, tenant, key) do update
          set task_id = excluded.task_id, body_hash = excluded.body_hash, expires_at = excluded.expires_at
          where k.expires_at <= foothold.clock();
      end if;
      created := found;
      exit when created;
      select k.task_id, k.body_hash into taken from foothold.dedupe k
      where k.agent = submit.agent and k.tenant = coalesce(submit.tenant, '') and k.key = submit.dedupe_key
        and k.expires_at > foothold.clock();
      continue when not found;
      if taken.body_hash <> hash then
        perform foothold.refuse('DEDUPE_CONFLICT',
          'Dedupe key ' || to_json(submit.dedupe_key) || ' was used with another input for task ' || taken.task_id
            || ': use a new key for a new request.',
          json_build_object('dedupeKey', submit.dedupe_key, 'taskId', taken.task_id));
      end if;
      task_id := taken.task_id;
      return;
    end loop;
    if not created then
      raise exception using errcode = 'serialization_failure',
        message = 'The dedupe key kept changing hands while a task was submitted: submit it again.';
    end if;
  end if;

  at := foothold.clock();
  is_due := submit.run_at is null or submit.run_at <= at;
  insert into foothold.tasks (id, agent, handler, tenant, status, waiting_for, wake_at, priority, run_at, input_checked,
    deadline_ms, deadline_at, created_at)
  values (submit.task_id, submit.agent, target.handler, coalesce(submit.tenant, ''),
    case when is_due then 'pending' else 'waiting' end,
    case when not is_due then 'start' end,
    case when not is_due then submit.run_at end,
    rank, greatest(submit.run_at, at), false,
    case when submit.deadline_at is null then target.deadline_ms end, submit.deadline_at, at);
  insert into foothold.task_payloads (task_id, input) values (submit.task_id, submit.input);
  if is_due then perform foothold.announce(target.handler); end if;
  created := true;
end $$;

create function foothold.cancel(
  task_id uuid,
  reason text default 'cancelled',
  out outcome text,
  out status text
) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  said constant text := coalesce(cancel.reason, 'cancelled');
begin
  update foothold.tasks t set
    cancel_requested_at = coalesce(t.cancel_requested_at, foothold.clock()),
    cancel_reason = coalesce(t.cancel_reason, case when length(said) > 500 then left(said, 499) || '\u2026' else said end),
    wake_seq = t.wake_seq + 1,
    status = case when t.status = 'processing' then t.status else 'cancelled' end,
    last_reason = case when t.status = 'processing' then t.last_reason else 'cancelled' end,
    finished_at = case when t.status = 'processing' then null else foothold.clock() end,
    wake_at = null, waiting_for = null
  where t.id = cancel.task_id and t.status in ('pending', 'processing', 'waiting', 'dead_letter')
  returning t.status into cancel.status;
  if found then
    outcome := case when cancel.status = 'processing' then 'requested' else 'cancelled' end;
    return;
  end if;
  select t.status into cancel.status from foothold.tasks t where t.id = cancel.task_id;
  if not found then perform foothold.refuse_task(cancel.task_id); end if;
  outcome := 'already_ended';
end $$;

create function foothold.refuse_task(task_id uuid) returns void language plpgsql as $$
begin
  perform foothold.refuse('TASK_NOT_FOUND', 'There is no task ' || coalesce(task_id::text, 'null') || '.',
    json_build_object('taskId', task_id));
end $$;

create function foothold.signal(
  task_id uuid,
  name text,
  payload json default 'null',
  dedupe_key text default null
) returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  woken record;
  standing text;
begin
  perform foothold.check_key('dedupe_key', signal.dedupe_key);
  perform foothold.check_name('name', signal.name);
  perform foothold.check_payload('payload', signal.payload);
  -- The task's row first: a worker that is about to wait either sees the signal or fails on wake_seq.
  update foothold.tasks t set wake_seq = t.wake_seq + 1,
    status = case when t.status = 'waiting' and t.waiting_for is distinct from 'start' then 'pending' else t.status end,
    wake_at = case when t.waiting_for = 'start' then t.wake_at end,
    waiting_for = case when t.waiting_for = 'start' then t.waiting_for end
  where t.id = signal.task_id and t.status in ('pending', 'processing', 'waiting', 'dead_letter')
  returning t.handler, t.status into woken;
  if found then
    insert into foothold.signals (task_id, name, payload, dedupe_key, created_at)
    values (signal.task_id, signal.name, signal.payload, coalesce(signal.dedupe_key, 'once:' || foothold.new_id()), foothold.clock())
    on conflict (task_id, name, dedupe_key) do nothing;
    if woken.status = 'pending' then perform foothold.announce(woken.handler); end if;
    return;
  end if;
  select t.status into standing from foothold.tasks t where t.id = signal.task_id;
  if not found then perform foothold.refuse_task(signal.task_id); end if;
  -- Its end may have come after the same signal had been stored.
  if exists (select 1 from foothold.signals g
    where g.task_id = signal.task_id and g.name = signal.name and g.dedupe_key = signal.dedupe_key) then return; end if;
  perform foothold.refuse('TASK_STATE_CONFLICT',
    'Task ' || signal.task_id || ' is ' || standing || '; a task that has ended takes no signal.',
    json_build_object('taskId', signal.task_id, 'status', standing, 'wanted', 'a task that has ended takes no signal'));
end $$;

-- What became of a task. Payloads stand in a view of their own, so that a role may see states and no contents.
create view foothold.outcome_view as
  select t.id as task_id, t.agent, nullif(t.tenant, '') as tenant, t.status, t.finished_at, p.output, p.error
  from foothold.tasks t join foothold.task_payloads p on p.task_id = t.id
  where t.status in ('completed', 'cancelled', 'dead_letter');
create view foothold.step_view as
  select task_id, key, kind, status, version, tries, attempt, worker_id, due_at, started_at, finished_at, error, usage
  from foothold.agent_steps;
-- Which task a key of a producer's stands for.
create view foothold.dedupe_view as
  select agent, nullif(tenant, '') as tenant, key, task_id, expires_at from foothold.dedupe;
create view foothold.agent_view as
  select name, version, handler, deadline_ms, has_dead_letter_handler, registered_at from foothold.agents;

-- Whoever is let into the schema to read its views may not yet call these.
revoke execute on function
  foothold.refuse(text, text, json), foothold.refuse_argument(text, text, text), foothold.refuse_task(uuid),
  foothold.check_name(text, text), foothold.check_key(text, text), foothold.check_time(text, timestamptz),
  foothold.check_payload(text, json), foothold.canonical_number(text), foothold.canonical_node(json),
  foothold.canonical_json(json), foothold.announce(text),
  foothold.submit(text, json, text, text, text, timestamptz, timestamptz), foothold.cancel(uuid, text),
  foothold.signal(uuid, text, json, text)
from public;
`},{version:4,name:"release-preference",breaking:!1,sql:`-- Of a task that was handed over: the release that gave it up, and until when workers of that release leave it to others.
alter table foothold.tasks
  add column left_release text,
  add column yield_until timestamptz;
`},{version:5,name:"pauses",breaking:!1,sql:`-- What must not run for now, until a person says otherwise. A table and not a setting of workers: it survives every
-- restart, and the statement that claims reads it.
create table foothold.pauses (
  kind text not null check (kind in ('agent', 'tenant', 'release')),
  value text not null,
  since timestamptz not null,
  reason text,
  paused_by text,
  primary key (kind, value)
);

-- Pending tasks of a paused tenant are set aside, so that no claim has to walk past a hundred thousand of them.
create index tasks_set_aside on foothold.tasks (tenant, id) where status = 'waiting' and waiting_for = 'pause';

-- What the author of an effect promised about an unknown outcome: whoever explains a task knows what a resume does.
-- key_until: inside it the same request is sent again under the same key; on_doubt counts after that.
alter table foothold.agent_steps
  add column on_doubt text check (on_doubt in ('find', 'repeat', 'stop', 'ask')),
  add column key_until timestamptz;

create view foothold.pause_view as select kind, value, since, reason, paused_by from foothold.pauses;
`}];var ad="7381240860042554468",Po=5e3,id=3e4,ld=6e4,dd=200;async function No({url:t,log:e=()=>{},signal:n}){let r=Date.now(),o=[],s="";for(;;){n?.throwIfAborted();try{return{version:await fd(t,n,i=>md(i,o,e)),applied:o}}catch(a){n?.throwIfAborted();let i=Date.now()-r;if(me(a)==="ours"||a instanceof f)throw a;if(i>=ld)throw new f("DATABASE_UNAVAILABLE",{doing:"migrating the schema",waitedMs:i},{cause:a});let l=a instanceof Error?a.message:String(a);l!==s&&e(`Migrating is put off: ${l}`),s=l,await D(dd,n)}}}var ud=ct.at(-1)?.version??0;async function Lo(t,e){if((await cd(t,e)).missing.length>0)throw new f("SCHEMA_MISSING",{})}async function cd(t,e){let n={doing:"reading the schema version",...e===void 0?{}:{signal:e}};return jo(await Fo(r=>t.run(r,[],n)))}function Co(t){return rd("sha256").update(t.sql).digest("hex")}async function fd(t,e,n){let r=new od,o=()=>{r.destroy(new Error("given up"))},s=new sd.Client({connectionString:t,stream:()=>r,connectionTimeoutMillis:Po,keepAlive:!0,application_name:"foothold migrate"});s.on("error",()=>{}),e?.addEventListener("abort",o,{once:!0});try{return await s.connect(),await n(s)}finally{e?.removeEventListener("abort",o),await s.end().catch(()=>{})}}async function md(t,e,n){let r=async()=>jo(await Fo(async s=>(await t.query(s)).rows)),o=await r();for(;o.missing.length>0;){await t.query("begin"),await t.query(`set local lock_timeout = ${Po}`),await t.query(`set local idle_in_transaction_session_timeout = ${id}`),await t.query(`select pg_advisory_xact_lock(${ad})`);let[s]=(await r()).missing;s!==void 0&&await pd(t,s),await t.query("commit"),s!==void 0&&(e.push(s.version),n(`Applied migration ${s.version} (${s.name})`)),o=await r()}return o.version}async function pd(t,e){e.version===1&&await hd(t),await t.query("insert into foothold.migrations (version, name, checksum, applied_at, breaking) values ($1, $2, $3, clock_timestamp(), $4)",[e.version,e.name,Co(e),e.breaking]),await t.query(e.sql)}async function hd(t){(await t.query("select 1 from pg_namespace where nspname = 'foothold'")).rowCount===0&&await t.query("create schema foothold"),await t.query(`
    create table foothold.migrations (
      version int primary key,
      name text not null,
      checksum text not null,
      applied_at timestamptz not null,
      breaking boolean not null
    )`)}async function Fo(t){return(await t(`select 1 as found from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'foothold' and c.relname = 'migrations'`)).length===0?[]:t("select version, checksum, breaking from foothold.migrations order by version")}function jo(t){for(let{version:n,checksum:r,breaking:o}of t){let s=ct.find(a=>a.version===n);if(s===void 0&&o)throw new f("SCHEMA_NEWER",{found:n,known:ud});if(s!==void 0&&r!==Co(s))throw new f("MIGRATION_CHANGED",{version:n})}let e=new Set(t.map(({version:n})=>n));return{version:t.at(-1)?.version??0,missing:ct.filter(({version:n})=>!e.has(n))}}var yd=50;function Uo(t,e){let n=new Map,r=!1,o=s=>{let a=setTimeout(()=>{let i=n.get(s);n.delete(s),i?.again===!0&&o(s)},yd);a.unref(),n.set(s,{again:!1,timer:a}),C(t,[s],{doing:"announcing a task",patienceMs:0}).catch(i=>{r||e?.debug({error:i,handler:s},"A pending task could not be announced; polling will find it.")})};return{notify(s){if(r)return;let a=n.get(s);a===void 0?o(s):a.again=!0},close(){r=!0;for(let{timer:s}of n.values())clearTimeout(s);n.clear()}}}import{randomBytes as Ou}from"node:crypto";import{hostname as Du}from"node:os";var Wo=["SIGTERM","SIGINT"],ye=new Set;function Ho(t){let e={handler:t,count:0};if(ye.size===0)for(let n of Wo)process.on(n,qo);return ye.add(e),()=>{if(!(!ye.delete(e)||ye.size>0))for(let n of Wo)process.off(n,qo)}}function qo(t){let e=[],n=[...ye];for(let r of n)if(ye.has(r)){r.count+=1;try{r.handler(t,r.count)}catch(o){e.push(o)}}if(e.length>0)throw e[0]}var Wt=new Set;function Go(t){Wt.size===0&&process.on("unhandledRejection",gd),Wt.add(t)}function gd(t){for(let e of Wt)if(e(t))return;if(process.listenerCount("unhandledRejection")===1)throw t}async function Ko(t,e){return t.run(wd(e),[e.workerId,e.claimId,e.handlers,e.limit],{doing:"claiming tasks",patienceMs:0})}function wd({oldestFirst:t,suspects:e}){return`
    with ${kd}, me as materialized (
      select release from foothold.workers
      where id = $1 and status = 'active' and lease_until > foothold.clock()
        and release <> all ((select releases from paused)::text[]) for key share),
    c as materialized (
      select t.id from ${bd} cross join lateral (
        select id from foothold.tasks
        where status = 'pending' and ${e?"suspect":`not suspect
          and (yield_until is null or yield_until <= foothold.clock() or left_release <> (select release from me))`} and handler = h.handler and exists (select 1 from me)
          and ${_d}
        order by ${t||e?"run_at, id":"priority, run_at, id"} limit $4 for no key update skip locked) t
      limit $4)
    update foothold.tasks t set
      status = 'processing', attempt = attempt + 1, worker_id = $1, claim_id = $2, claimed_at = foothold.clock(),
      left_release = null, yield_until = null, started_at = coalesce(started_at, foothold.clock()),
      deadline_at = coalesce(deadline_at, foothold.clock() + deadline_ms * interval '1 ms')
    from c where t.id = c.id
    returning t.id, t.attempt`}var kd=`paused as materialized (
      select coalesce(array_agg(value) filter (where kind = 'agent'), '{}') as agents,
        coalesce(array_agg(value) filter (where kind = 'tenant'), '{}') as tenants,
        coalesce(array_agg(value) filter (where kind = 'release'), '{}') as releases
      from foothold.pauses)`,_d="coalesce(tenant <> all ((select tenants from paused)::text[]), true)",bd=`(
        select handler from unnest($3::text[]) with ordinality u(handler, n)
        where split_part(handler, '@', 1) <> all ((select agents from paused)::text[]) order by n) h`;async function Vo(t,e,n){return(await t.run(`select 1 from foothold.tasks t
     where status = 'pending' and suspect and handler = any($2)
       and not exists (${G({handler:"t.handler",tenant:"t.tenant",release:"(select release from foothold.workers where id = $1)"})}) limit 1`,[e,n],{doing:"looking for suspects",patienceMs:0})).length>0}var qt=t=>`case when ${t} is not null then ceil(greatest(0, extract(epoch from ${t} - foothold.clock()) * 1000)) end::float8`,Ht=`json_build_object(
  'key', s.key, 'kind', s.kind, 'version', s.version, 'status', s.status, 'tries', s.tries, 'retryable', s.retryable,
  'attempt', s.attempt, 'workerId', s.worker_id, 'idempotencyKey', s.idempotency_key, 'refusals', s.refusals,
  'request', s.request::text, 'output', s.output::text, 'error', s.error,
  'dueInMs', ${qt("s.due_at")}, 'doubtInMs', ${qt("s.doubt_until")},
  'ageMs', greatest(0, extract(epoch from foothold.clock() - s.started_at) * 1000)::float8)`,Sd=`(
  select json_build_object('cause', a.outcome, 'seconds', extract(epoch from t.claimed_at
           - case a.outcome when 'orphaned' then coalesce(w.last_heartbeat_at, a.ended_at) else a.ended_at end)::float8)
  from foothold.attempts a left join foothold.workers w on w.id = a.worker_id
  where a.task_id = t.id and a.attempt = t.attempt - 1
    and (a.outcome = 'orphaned' or a.outcome = 'handed_over' and a.reason in ('graceful_shutdown', 'database_error')))`;async function Bo(t,e,n,r){return t.run(`select t.id, t.agent, t.handler, t.attempt, t.tenant, t.wake_seq as "wakeSeq",
            t.cancel_requested_at is not null as "isCancelRequested",
            ${qt("t.deadline_at")} as "deadlineInMs", t.input_checked as "isInputChecked", p.input::text as input,
            ${Sd} as recovery,
            coalesce((select json_agg(${Ht}) from foothold.agent_steps s where s.task_id = t.id), '[]') as steps,
            coalesce((select json_agg(json_build_object('id', g.id::text, 'name', g.name, 'payload', g.payload::text) order by g.id)
                      from foothold.signals g where g.task_id = t.id and g.consumed_by is null), '[]') as signals
     from foothold.tasks t join foothold.task_payloads p on p.task_id = t.id
     where t.id = any($2::uuid[]) and t.worker_id = $1 and t.status = 'processing'`,[e,n],{doing:"loading claimed tasks",patienceMs:Number.POSITIVE_INFINITY,signal:r})}var zo=t=>`
  with v as materialized (
    select * from unnest($2::uuid[], $3::int[], $4::text[], $5::text[], $6::int[], $7::text[], $8::int[], $9::boolean[],
      $10::int[], $11::json[], $12::json[], $13::json[], $14::float8[], $15::float8[], $16::float8[])
      with ordinality v(id, attempt, key, kind, version, status, tries, retryable, refusals, output, error, usage, due_in_ms, doubt_in_ms, started_ago_ms, n)),
  f as materialized (
    select t.id, t.attempt from foothold.tasks t
    where t.id = any($2::uuid[]) and t.worker_id = $1 and t.status = 'processing'
    order by t.id for no key update${t?" skip locked":""}),
  i as (
    insert into foothold.agent_steps as s (task_id, key, kind, version, status, tries, retryable, attempt, worker_id, refusals,
      output, error, usage, due_at, doubt_until, started_at, finished_at)
    select v.id, v.key, v.kind, v.version, v.status, v.tries, v.retryable, v.attempt, $1, v.refusals, v.output, v.error, v.usage,
      foothold.clock() + v.due_in_ms * interval '1 ms', foothold.clock() + v.doubt_in_ms * interval '1 ms',
      foothold.clock() - v.started_ago_ms * interval '1 ms', foothold.clock()
    from v join f using (id, attempt)
    on conflict (task_id, key) do update set
      kind = excluded.kind, version = excluded.version, status = excluded.status, tries = excluded.tries,
      retryable = excluded.retryable, attempt = excluded.attempt, worker_id = excluded.worker_id, refusals = excluded.refusals,
      output = excluded.output, error = excluded.error, usage = coalesce(excluded.usage, s.usage), due_at = excluded.due_at,
      doubt_until = excluded.doubt_until, finished_at = excluded.finished_at
      where s.status in ('intent', 'failed', 'waiting')
    returning s.task_id, s.key)
  select f.id is not null as held, i.key is not null as stored
  from v left join f using (id, attempt) left join i on i.task_id = v.id and i.key = v.key
  order by v.n`,Td=zo(!0),Jo=zo(!1);function Xo(t,e){return[t,e.map(n=>n.taskId),e.map(n=>n.attempt),e.map(n=>n.key),e.map(n=>n.kind),e.map(n=>n.version),e.map(n=>n.status),e.map(n=>n.tries),e.map(n=>n.retryable),e.map(n=>n.refusals),e.map(n=>n.output),e.map(n=>n.error),e.map(n=>n.usage),e.map(n=>n.dueInMs),e.map(n=>n.doubtInMs),e.map(n=>n.startedAgoMs)]}async function Gt(t,e,n,r){return t.run(r.waitForLocks?Jo:Td,Xo(e,n),r)}function Yo(t,e){return{text:Jo,values:Xo(t,[e])}}async function H(t,e,n,r){return(await t.run(`select ${Ht} as step from foothold.agent_steps s where s.task_id = $1 and s.key = $2`,[e,n],r))[0]?.step??null}var ft="t.id = $1 and t.attempt = $2 and t.worker_id = $3 and t.status = 'processing'";async function Qo(t,e,n,r){return(await t.run(`with f as materialized (select t.id from foothold.tasks t where ${ft} for no key update),
     i as (
       insert into foothold.agent_steps (task_id, key, kind, version, status, tries, attempt, worker_id, idempotency_key, request, doubt_until,
         on_doubt, key_until, started_at)
       select f.id, $4, 'effect', $5, 'intent', $6, $2, $3, $7, $8::json, foothold.clock() + $9 * interval '1 ms',
         $10, foothold.clock() + $11::float8 * interval '1 ms', foothold.clock() from f
       on conflict do nothing returning 1)
     select exists (select 1 from f) as held, exists (select 1 from i) as inserted`,[e.taskId,e.attempt,e.workerId,n.key,n.version,n.tries,n.idempotencyKey,n.request,n.doubtForMs,n.promise.onDoubt,n.promise.keyWindowMs],r))[0]}async function Zo(t,e,n,r){return(await t.run(`with f as materialized (select t.id from foothold.tasks t where ${ft} for no key update)
     update foothold.agent_steps s set status = 'intent', attempt = $2, worker_id = $3, tries = $5, idempotency_key = $6, request = $8::json,
       retryable = true, error = null, due_at = null, doubt_until = foothold.clock() + $7 * interval '1 ms',
       on_doubt = $9, key_until = s.started_at + $10::float8 * interval '1 ms'
     from f where s.task_id = f.id and s.key = $4 and s.status in ('intent', 'failed')
     returning s.key`,[e.taskId,e.attempt,e.workerId,n.key,n.tries,n.idempotencyKey,n.doubtForMs,n.request,n.promise.onDoubt,n.promise.keyWindowMs],r)).length>0}async function es(t,e,n,r){return(await t.run(`with f as materialized (select t.id from foothold.tasks t where ${ft} for no key update),
     g as (
       update foothold.signals set consumed_by = $4
       where id = $5::bigint and task_id = $1 and consumed_by is null and exists (select 1 from f) returning task_id)
     insert into foothold.agent_steps as s (task_id, key, kind, status, attempt, worker_id, output, started_at, finished_at)
     select task_id, $4, 'signal', 'completed', $2, $3, $6::json, foothold.clock(), foothold.clock() from g
     on conflict (task_id, key) do update set status = 'completed', output = excluded.output, attempt = excluded.attempt,
       worker_id = excluded.worker_id, due_at = null, finished_at = excluded.finished_at
       where s.status = 'waiting'
     returning s.key`,[e.taskId,e.attempt,e.workerId,n.key,n.signalId,n.output],r)).length>0}async function Ce(t,e,n){return(await t.run(`select t.wake_seq as "wakeSeq", t.cancel_requested_at is not null as "isCancelRequested",
            coalesce((select json_agg(json_build_object('id', g.id::text, 'name', g.name, 'payload', g.payload::text) order by g.id)
                      from foothold.signals g where g.task_id = t.id and g.consumed_by is null), '[]') as signals
     from foothold.tasks t where ${ft}`,[e.taskId,e.attempt,e.workerId],n))[0]??null}async function ts(t,e,n){await t.run(`insert into foothold.stream_chunks (task_id, key, attempt, tries, seq, channel, chunk, created_at)
     select v.*, foothold.clock()
     from unnest($1::uuid[], $2::text[], $3::int[], $4::int[], $5::int[], $6::text[], $7::json[]) v
     on conflict do nothing`,[e.map(r=>r.taskId),e.map(r=>r.key),e.map(r=>r.attempt),e.map(r=>r.tries),e.map(r=>r.seq),e.map(r=>r.channel),e.map(r=>r.chunk)],n)}var Ad=50,xd=150,Ed=500,vd=2e6,Md=2e4,$d=32e6,ns=5e3,Id="$started";function rs(t,e){let n=[],r=0,o=0,s=0,a=[],i=null,l=null;function d(g){s+=g;let w=a.filter(({at:_})=>_<=s);if(w.length!==0){a=a.filter(({at:_})=>_>s);for(let{tell:_}of w)_()}}function u(){return l!==null&&clearTimeout(l),l=null,i??=c().finally(()=>{i=null}),i}async function c(){for(;n.length>0;){let g=m();try{await ts(t,g,{doing:"storing stream chunks",patienceMs:ns})}catch(w){e(w)}d(g.length)}}function m(){let g=0,w=0;for(let E of n.slice(0,Ed)){if(g+=E.chunk.length,w>0&&g>vd)break;w+=1}let _=n.slice(0,w);n=n.slice(w);for(let E of _)r-=E.chunk.length;return _}function h(g){n.push(g),r+=g.chunk.length,o+=1,(n.length>Md||r>$d)&&p(),l??=setTimeout(()=>{u()},Ad)}function p(){let g=n.splice(0,Math.max(1,Math.ceil(n.length/10)));for(let w of g)r-=w.chunk.length;d(g.length)}async function y(g){s>=g||await new Promise(w=>{let _=setTimeout(w,ns),E=()=>{clearTimeout(_),w()};a.push({at:g,tell:E}),u()})}return{open(g){let w=0,_=0,E=!1,be=(Ge,ht)=>{h({...g,seq:w++,channel:Ge,chunk:A(ht,"chunk")}),_=o},F=()=>{clearTimeout(j),w===0&&be(Id,"")},j=setTimeout(F,xd);return{emit(Ge,ht){T("channel",Ge),!E&&(F(),be(Ge,ht))},leaveTrace(){E||F()},async end(){E=!0,clearTimeout(j),await y(_)}}},async close(){await u(),await u()}}}import{randomUUID as Od}from"node:crypto";var os=null;function x(t,e,n){return os===null?void 0:os(t,{taskId:e,key:n})}var ss=50,as=1e3,Dd=1e3,Rd=100,Pd=10,Nd=2e3;function is(t){let{db:e,freeSlots:n,isIdle:r,onClaimed:o,onError:s}=t,a=new AbortController,i=new Set,l=new Set,d=new AbortController,u=0,c=Date.now(),m=0,h=!1,p=!1;async function y(E,be){let F=Od();i.add(F);try{u+=1;let j=await Ko(e,{workerId:t.workerId(),claimId:F,handlers:Cd(t.handlers,u),limit:E,oldestFirst:u%Pd===0,suspects:be});return j.length>0&&(await x("claim.answered",j[0]?.id??"",null),await o(j)),j.length}catch(j){return l.add(F),s(j),0}finally{i.delete(F)}}async function g(){if(p){if(!r())return!1;p=!1}if(Date.now()-m>Nd&&(m=Date.now(),h=await Vo(e,t.workerId(),t.handlers)),h)return r()?(h=!1,p=await y(1,!0)>0,p):!1;let E=Math.min(n(),Rd);return E>0&&await y(E,!1)===E}async function w(){for(;!a.signal.aborted;){d=new AbortController;let E=!1;try{E=await g()}catch(F){s(F)}if(E){c=Date.now();continue}await D(Ld(Date.now()-c),d.signal)==="aborted"&&(c=Date.now())}}let _=w();return{wake:()=>d.abort(),claimsUnderWay:i,claimsLost:l,async stop(){a.abort(),d.abort(),await _}}}function Ld(t){return t<as?ss:Math.min(Dd,ss+(t-as)/4)*(.75+Math.random()*.25)}function Cd(t,e){let n=e%Math.max(1,t.length);return[...t.slice(n),...t.slice(0,n)]}import{createHash as Kd}from"node:crypto";var N={version:1,retryable:!0,refusals:0,output:null,error:null,usage:null,dueInMs:null,doubtInMs:null,startedAgoMs:0};function J({code:t,message:e,reason:n,step:r}){let o=r===void 0?{}:{step:r};return A({code:t,message:M(e),reason:n,...o},"the error")}function ls(t){let e=null,n={inputTokens:0,outputTokens:0},r=!1;function o(s){if(e===null)return;let a=e.inputTokens-n.inputTokens,i=e.outputTokens-n.outputTokens;n=e,t({...e,inputTokens:a,outputTokens:i},s)}return{get usage(){return e},record(s){e=s,r&&o("wasted")},close(s){r=!0,o(s)}}}var Fd=3e5;function Fe(t,e,n,r,o,s=Fd){return{key:e,kind:n,version:r.version??1,timeoutMs:r.timeoutMs??s,policy:{...t.retry,...r.retry},tries:o?.tries??0,lastReason:o?.error?.reason??null}}async function ds(t,e,n,r){let o=t.open(e,"step",r.version??1);if(o?.status==="completed")return S(o.output);Ue(o);let s=Fe(t,e,"step",r,o);return await We(t,o),je(t,s,async a=>{let i=t.services.clock.monotonicMs(),l=await a.limited(()=>n(a));a.signal.throwIfAborted(),await x("step.ran",t.fence.taskId,e);let d=A(l,`the result of step ${JSON.stringify(e)}`);return Kt(t,s,a,d,i)})}async function Kt(t,e,n,r,o){await n.shown();let s=await t.store({...N,key:e.key,kind:e.kind,version:e.version,status:"completed",tries:e.tries+1,output:r,usage:n.usageText(),startedAgoMs:t.services.clock.monotonicMs()-o});return await x("step.stored",t.fence.taskId,e.key),S(s.kind==="stands"?s.step.output??"null":r)}async function je(t,e,n,r={decide:(o,s)=>s,store:(o,s)=>Hd(t,e,o,s)}){for(;;){let o=await jd(t,e,n,r);if("value"in o)return o.value;await t.park(o)}}async function jd(t,e,n,r){await t.enter(e.key);try{let o=await Ud(t,e,n);if(o.kind==="done")return{value:o.value};if(o.kind==="park")return o.branch;let{failure:s}=o;e.tries+=1,t.countFailure(),t.services.meter.stepFailed(t.task.agent,s.reason);let a=e.lastReason!==null&&st(e.lastReason)?1:e.tries;e.lastReason=s.reason;let i=r.decide(s,at(s,a,e.policy,t.services.random));if(await r.store(s,i),Gd(t,e,s,i),i.kind==="final")throw us(e.key,s,e.tries);return{key:e.key,kind:"retry",dueAtMs:t.services.clock.monotonicMs()+i.delayMs,reason:s.reason,detail:`${e.key}, try ${e.tries}: ${M(s.message)}`}}finally{t.leave()}}var ge=class extends Error{branch;constructor(e){super(`step ${e.key} waits`),this.branch=e}};async function Ud(t,e,n){let{key:r,timeoutMs:o}=e,s=t.openTry(e.kind==="effect"),a=t.services.chunks.open({...t.fence,key:r,tries:e.tries+1}),{meter:i,clock:l}=t.services,d=ls((c,m)=>i.tokens(t.task.agent,c,m)),u=!1;try{await t.services.lease.ensureGood(s.signal),await x("step.started",t.fence.taskId,r);let c=l.monotonicMs(),m={signal:s.signal,tries:e.tries+1,emit:(p,y)=>a.emit(p,y),recordUsage:p=>d.record(p),limited:async p=>{let g=setTimeout(()=>s.abort(new f("STEP_TIMEOUT",{key:r,timeoutMs:o})),o);try{return await p()}finally{clearTimeout(g)}},shown:()=>a.end(),usageText:()=>d.usage===null?null:A(d.usage,"usage")},h=await Wd(n(m),s.signal);return u=!0,i.stepStored(t.task.agent,e.kind,(l.monotonicMs()-c)/1e3),{kind:"done",value:h}}catch(c){if(c instanceof ge)return{kind:"park",branch:c.branch};let m=[c,s.signal.reason].find(h=>b(h,"ATTEMPT_ENDED"));if(m!==void 0)throw a.leaveTrace(),m;if(qd(c))throw c;return{kind:"failed",failure:L(s.signal.aborted?s.signal.reason:c)}}finally{d.close(u?"kept":"wasted"),s.close(),a.end()}}function Wd(t,e){return new Promise((n,r)=>{let o=()=>r(e.reason);e.aborted&&o(),e.addEventListener("abort",o,{once:!0}),t.then(n,r).finally(()=>e.removeEventListener("abort",o))})}function qd(t){return b(t,"CODE_CHANGED")||b(t,"EFFECT_REQUEST_CHANGED")||b(t,"EFFECT_UNKNOWN")||b(t,"STEP_FAILED")}async function Hd(t,e,n,r){await t.store({...N,key:e.key,kind:e.kind,version:e.version,status:"failed",tries:e.tries,retryable:r.kind==="retry",error:J(n),dueInMs:r.kind==="retry"?r.delayMs:null})}function Gd(t,e,n,r){t.services.logger.warn({task:t.fence.taskId,attempt:t.fence.attempt,step:e.key,tries:e.tries,reason:n.reason,retryInMs:r.kind==="retry"?r.delayMs:null,message:M(n.message,500)},r.kind==="retry"?"step failed, will be tried again":"step failed for good")}function us(t,e,n){return new f("STEP_FAILED",{key:t,reason:e.reason,tries:n,message:e.message})}function Ue(t){if(t?.status!=="failed"||t.retryable)return;let{reason:e="step_failed",message:n="no message was stored"}=t.error??{};throw us(t.key,{reason:e,message:n},t.tries)}async function We(t,e){e===null||e.status==="completed"||e.dueInMs===null||e.dueInMs<=0||await t.park({key:e.key,kind:"retry",dueAtMs:t.services.clock.monotonicMs()+e.dueInMs,reason:e.error?.reason??null,detail:e.error?.message??null})}var Vd=3e4,cs=1e3;async function ps(t,e,n){let r=t.open(e,"effect",n.version??1);if(r?.status==="completed")return S(r.output);Ue(r);let o=new Vt(t,e,n,r);return await We(t,r),je(t,o.progress,s=>o.attempt(s),{decide:(s,a)=>o.decide(s,a),store:(s,a)=>o.storeFailure(s,a)})}var Vt=class{progress;#t="effect_unknown";#e;#n;#s;#a;#r;#d;#p;#l=Number.NEGATIVE_INFINITY;#u=!1;#o=!1;constructor(e,n,r,o){this.#e=e,this.#n=n,this.#s=r,this.#a=A(r.request,`the request of effect ${JSON.stringify(n)}`),this.#r=o,this.progress=Fe(e,n,"effect",r,o,Vd);let s=e.services.clock.monotonicMs();this.#d=s+(o?.doubtInMs??0),this.#p=s-(o?.ageMs??0)}async attempt(e){let n=this.#i;this.#o=!1,this.#r===null?await this.#g():this.#r.status==="unknown"&&(this.#r=await this.#k());let r=this.#r;if(r.status==="completed")return S(r.output);if(r.status==="unknown")return this.#f();if(this.#m(r),r.status==="intent"&&!this.#u){let o=await this.#x(e,r,n);if(o!==null)return o.value}for(;;){if(await this.#e.services.lease.ensureGood(e.signal),this.#r?.status==="intent"&&this.#i-this.#l<cs&&(this.#u||!this.#w()))return this.#M(e,n);if(!this.#u&&this.#r?.status==="intent"&&this.#w())return this.attempt(e);if(!await this.#v(this.#r))return this.attempt(e)}}decide(e,n){let r=this.#s.onDoubt==="stop"||this.#s.onDoubt==="ask",o=this.#r?.status==="intent"&&!this.#u&&!this.#o;return n.kind==="final"&&e.retryable&&o&&r?{kind:"retry",delayMs:0}:n}async storeFailure(e,n){let r=this.#r;if(r===null)return;let o=this.#o,s=n.kind==="retry"?n.delayMs:null,a=o||r.status==="failed"?"failed":"intent",i=r.refusals+(o?1:0),l=a==="intent"?Math.max(0,this.#d-this.#i):null;await this.#e.store({...N,key:this.#n,kind:"effect",version:this.progress.version,status:a,tries:this.progress.tries,retryable:n.kind==="retry"||a==="intent",refusals:i,error:J(e),dueInMs:s,doubtInMs:l}),this.#r={...r,status:a,refusals:i,tries:this.progress.tries},this.#l=Number.NEGATIVE_INFINITY,this.#t=e.reason}#c(e){return e.attempt===this.#e.fence.attempt&&e.workerId===this.#e.fence.workerId}get#i(){return this.#e.services.clock.monotonicMs()}#w(){let{keyWindowMs:e}=this.#s;return e!==void 0&&this.#i-this.#p>=e}get#h(){return"findLagMs"in this.#s?this.#s.findLagMs:0}get#y(){return cs+this.progress.timeoutMs+this.#h}async#g(){let{fence:e,services:n}=this.#e,r=ms(e.taskId,this.#n,0);this.#l=this.#i;let o=await Qo(n.db,e,{key:this.#n,version:this.progress.version,tries:this.progress.tries+1,request:this.#a,idempotencyKey:r,doubtForMs:this.#y,promise:fs(this.#s)},this.#e.statement("storing an intent"));o.held||this.#e.loseLease(),this.#p=n.clock.monotonicMs(),this.#d=this.#p+this.#y,this.#r=o.inserted?this.#_(r):await this.#k(),this.#u=this.#r.status==="intent"&&this.#c(this.#r),await x("intent.stored",e.taskId,this.#n)}#_(e){return{key:this.#n,kind:"effect",version:this.progress.version,status:"intent",tries:this.progress.tries+1,retryable:!0,attempt:this.#e.fence.attempt,workerId:this.#e.fence.workerId,idempotencyKey:e,refusals:0,request:this.#a,output:null,error:null,dueInMs:null,doubtInMs:this.#y,ageMs:0}}async#k(){let{fence:e,services:n}=this.#e;return await H(n.db,e.taskId,this.#n,this.#e.statement("reading an effect"))??this.#e.loseLease()}#m(e){if(!(e.status!=="intent"||e.request===null)&&Ie(e.request)!==Ie(this.#a))throw new f("EFFECT_REQUEST_CHANGED",{key:this.#n})}async#x(e,n,r){let o=this.#s;switch(o.onDoubt){case"repeat":return null;case"stop":return{value:await this.#A(e,{outcome:"unknown"},r)};case"ask":return this.#f();case void 0:break}if(o.keyWindowMs!==void 0&&!this.#w())return null;if(o.find===void 0)return this.#f();this.#E(),await this.#e.services.lease.ensureGood(e.signal);let s=await e.limited(()=>o.find(S(n.request),this.#T(e,n)));return s!==null?{value:await this.#A(e,s,r)}:(this.#u=!0,null)}#E(){if(!(this.#d<=this.#i))throw new ge({key:this.#n,kind:"retry",dueAtMs:this.#d,reason:this.#t,detail:`${this.#n}: an earlier request may still take effect; it is looked up after that`})}async#v(e){let{fence:n,services:r}=this.#e,o=e.status==="failed",s=o?ms(n.taskId,this.#n,e.refusals):e.idempotencyKey,a=o?this.#a:e.request;return this.#l=this.#i,await Zo(r.db,n,{key:this.#n,tries:this.progress.tries+1,idempotencyKey:s,request:a,doubtForMs:this.#y,promise:fs(this.#s)},this.#e.statement("taking over an intent"))?(this.#d=this.#i+this.#y,o&&(this.#u=!0,this.#p=this.#i),this.#r={...e,...n,status:"intent",idempotencyKey:s,request:a},await x("intent.stored",n.taskId,this.#n),!0):(this.#r=await this.#e.stored(this.#n)??this.#e.loseLease(),!1)}async#M(e,n){let{fence:r}=this.#e,o=this.#r;this.#u=!1;let s;try{s=await e.limited(()=>this.#s.send(S(o.request),this.#T(e,o)))}catch(i){if(b(i,"ATTEMPT_ENDED"))throw i;return await this.#S(i,e,n)}await x("effect.answered",r.taskId,this.#n);let a=await this.#A(e,this.#s.onDoubt==="stop"?{outcome:"done",result:s}:s,n);return await x("effect.stored",r.taskId,this.#n),a}async#S(e,n,r){let o=L(e);if(this.#o=o.isDefinite,o.isDefinite)throw e;if(this.#d=this.#i+this.#h,this.#s.onDoubt==="stop"&&!n.signal.aborted)return this.#A(n,{outcome:"unknown"},r);if(this.#s.onDoubt==="ask")return this.#f();throw e}#T(e,n){let{signal:r,tries:o,emit:s,recordUsage:a}=e;return{signal:r,tries:o,emit:s,recordUsage:a,idempotencyKey:n.idempotencyKey}}async#A(e,n,r){let o=A(n,`the result of effect ${JSON.stringify(this.#n)}`);return Kt(this.#e,this.progress,e,o,r)}async#f(){throw this.#r?.status!=="unknown"&&await this.#e.store({...N,key:this.#n,kind:"effect",version:this.progress.version,status:"unknown",tries:this.progress.tries+1,refusals:this.#r?.refusals??0,error:J({...L(new f("EFFECT_UNKNOWN",{key:this.#n})),reason:"effect_unknown"})}),new ge({key:this.#n,kind:"person",dueAtMs:null,reason:"effect_unknown",detail:`${this.#n}: nobody can know whether it happened; a person is asked`})}};function fs(t){return t.onDoubt!==void 0?{keyWindowMs:null,onDoubt:t.onDoubt}:{keyWindowMs:t.keyWindowMs??null,onDoubt:t.find===void 0?"ask":"find"}}function ms(t,e,n){let r=Kd("sha256").update(`${t}
${e}
${n}`).digest();r[6]=r[6]&15|128,r[8]=r[8]&63|128;let o=r.toString("hex");return[o.slice(0,8),o.slice(8,12),o.slice(12,16),o.slice(16,20),o.slice(20,32)].join("-")}async function ys(t,e,n,r,o){let s=t.open(n,"transaction",o.version??1);if(s?.status==="completed")return S(s.output);Ue(s);let a=Fe(t,n,"transaction",o,s);return await We(t,s),je(t,a,i=>Bd(t,e,a,r,i))}async function Bd(t,e,n,r,o){let s=t.services.clock.monotonicMs(),a=await Xd(e);if(o.signal.aborted)throw a.release(),o.signal.reason;let i=!1,l=!1,d=tu(a,n.timeoutMs),u=()=>a.release(new Error("the transaction was abandoned"));o.signal.addEventListener("abort",u,{once:!0});try{let c=Math.min(Math.ceil(n.timeoutMs)+1e3,zd);await a.query(`begin; set local idle_in_transaction_session_timeout = ${c}`);let m;l=!0;try{let g=await o.limited(()=>r(d.queryable,o));m=A(g,`the result of transaction ${JSON.stringify(n.key)}`)}finally{d.revoke()}l=!1,Jd(a),await x("transaction.ran",t.fence.taskId,n.key),await o.shown();let h={...N,taskId:t.fence.taskId,attempt:t.fence.attempt,key:n.key,kind:"transaction",version:n.version,status:"completed",tries:n.tries+1,output:m,usage:o.usageText(),startedAgoMs:t.services.clock.monotonicMs()-s},p=Yo(t.fence.workerId,h),y=(await a.query(p.text,p.values)).rows[0];return y?.held!==!0||!y.stored?(await a.query("rollback"),i=!0,await Qd(t,n.key,y?.held===!0)):(await Yd(a),i=!0,await x("transaction.committed",t.fence.taskId,n.key),S(m))}catch(c){if(!l||d.threw(c))return await Zd(t,n.key,c);throw c}finally{o.signal.removeEventListener("abort",u),o.signal.aborted||a.release(i?void 0:new Error("the transaction failed"))}}var zd=2**31-1;function Jd(t){let e=t.getTransactionStatus();if(!(e==="T"||e==="E"))throw new f("INVALID_ARGUMENT",{field:"sql.query",problem:"the transaction was ended inside the function",cure:"Throw to roll back; use savepoints inside."})}async function Xd(t){try{return await t.checkOut()}catch(e){throw new Y("No database session for the transaction",{reason:"database_unavailable",cause:e})}}async function Yd(t){let{command:e}=await t.query("commit");if(e!=="COMMIT")throw new Y("the transaction was rolled back",{reason:"database_error"})}async function Qd(t,e,n){n||t.loseLease();let{services:r,fence:o}=t,s=await H(r.db,o.taskId,e,t.statement("reading a step"));return S(s?.output??"null")}async function Zd(t,e,n){if(pe(n)===null&&!hs(n))throw n;let{services:r,fence:o}=t,s=await H(r.db,o.taskId,e,t.statement("reading a step"));if(s?.status==="completed")return S(s.output);if(hs(n)||me(n)==="away"){let a=n instanceof Error?n.message:String(n);throw new Y(a,{reason:"database_unavailable",cause:n})}throw n}function hs(t){if(!(t instanceof Error))return!1;let e="code"in t&&typeof t.code=="string"?t.code:"";return/connection|timeout|not queryable|ECONN|EPIPE|socket/i.test(`${t.message} ${e}`)}var eu=/^\s*(begin|start\s+transaction|commit|end|rollback|abort|prepare\s+transaction)\b/i;function tu(t,e){let n=!1,r=new Set;return{queryable:{async query(o,s){if(n)throw new f("INVALID_ARGUMENT",{field:"sql.query",problem:"the transaction has ended",cure:"Await every query inside the function."});if(eu.test(o)&&!/^\s*rollback\s+to\b/i.test(o))throw new f("INVALID_ARGUMENT",{field:"sql.query",problem:"the transaction is begun and ended by task.transaction",cure:"Throw to roll back; use savepoints inside."});let a={text:o,values:s??[],query_timeout:e};return t.query(s===void 0?{text:o,query_timeout:e}:a).catch(i=>{throw r.add(i),i})}},revoke:()=>{n=!0},threw:o=>r.has(o)}}async function Bt(t,e,n){let r=t.open(e,"sleep",1);if(r?.status==="completed")return;let o=t.services.clock.monotonicMs()+(r?.dueInMs??Math.max(0,n()));for(;t.services.clock.monotonicMs()<o;)await t.park({key:e,kind:"sleep",dueAtMs:o,reason:null,detail:null});await ws(t,e,"sleep")}async function gs(t,e,n,r){let o=t.open(e,"signal",1);if(o?.status==="completed")return S(o.output);let s=nu(t,o,r);for(;;){let a=await ru(t,e,n);if(a!==null)return S(a);if(s!==null&&t.services.clock.monotonicMs()>=s)return ws(t,e,"signal");await t.park({key:e,kind:"signal",dueAtMs:s,reason:null,detail:null,signalName:n})}}function nu(t,e,n){let r=e?.status==="waiting"?e.dueInMs:n;return r===null?null:t.services.clock.monotonicMs()+r}async function ru(t,e,n){for(let r=t.takeSignal(n);r!==null;r=t.takeSignal(n)){await t.enter(e);try{if(await es(t.services.db,t.fence,{key:e,signalId:r.id,output:r.payload},t.statement("taking a signal")))return r.payload;let s=await t.stored(e);if(s?.status==="completed")return s.output}finally{t.leave()}}return null}async function ws(t,e,n){await t.enter(e);try{let r=await t.store({...N,key:e,kind:n,status:"completed",tries:0,output:"null"});return r.kind==="stands"?S(r.step.output??"null"):null}finally{t.leave()}}function _s(t,e,n,r){let{task:o}=t;return{id:o.id,agent:e.agent,version:e.version,attempt:o.attempt,tenant:o.tenant===""?null:o.tenant,signal:t.controller.signal,step:we(t,async(a,i,l={})=>(T("step key",a),Jt("step",a,i),Xt(`step ${a}`,l),ds(t,a,i,l))),transaction:we(t,async(a,i,l={})=>(T("step key",a),Jt("transaction",a,i),Xt(`transaction ${a}`,l),ys(t,n,a,i,l))),effect:we(t,async(a,i)=>(T("step key",a),su(a,i),ps(t,a,i))),sleep:we(t,async(a,i)=>{T("step key",a),qe(`sleep ${a}`,i),await Bt(t,a,()=>i)}),sleepUntil:we(t,async(a,i)=>{T("step key",a);let l=i.getTime()-r();qe(`sleepUntil ${a}`,l),await Bt(t,a,()=>l)}),waitForSignal:we(t,async(a,i,l)=>(T("step key",a),l!==void 0&&qe(`waitForSignal ${a}.timeoutMs`,l.timeoutMs),gs(t,a,i.name,l?.timeoutMs??null)))}}function we(t,e){return function n(...r){t.entrance=n;let o=t.isEnded?t.refuse().then(()=>e(...r)):e(...r).catch(ou);return o.catch(()=>{}),o}}async function ou(t){throw await new Promise(e=>setImmediate(e)),t}function Jt(t,e,n){if(typeof n!="function")throw new f("INVALID_ARGUMENT",{field:`${t} ${e}`,problem:"its second argument is not a function"})}var zt=2**31-1;function Xt(t,{timeoutMs:e,version:n,retry:r={}}){if(e!==void 0&&!(e>0&&e<=zt))throw new f("INVALID_ARGUMENT",{field:`${t}.timeoutMs`,problem:`${String(e)} is not between 1 and ${zt}`});if(n!==void 0&&!(Number.isInteger(n)&&n>=1))throw new f("INVALID_ARGUMENT",{field:`${t}.version`,problem:`${String(n)} is not a whole number of 1 or more`});for(let[o,s]of Object.entries(r)){let a=o==="attemptsMax"?Number.POSITIVE_INFINITY:zt;if(s!==void 0&&!(s>=0&&s<=a))throw new f("INVALID_ARGUMENT",{field:`${t}.retry.${o}`,problem:`${String(s)} is not a number from 0 to ${a}`})}}var ks=31536e8;function qe(t,e){if(!(typeof e=="number"&&e<=ks))throw new f("INVALID_ARGUMENT",{field:t,problem:`${String(e)} is not a number of milliseconds up to ${ks}`})}function su(t,e){let n=`effect ${t}`;if(Xt(n,e),Jt("effect",t,e?.send),e.onDoubt===void 0&&e.keyWindowMs===void 0&&!("find"in e))throw new f("INVALID_ARGUMENT",{field:n,problem:"nothing says what an unknown outcome means",cure:"Give keyWindowMs, or find with findLagMs, or onDoubt: 'repeat', 'stop' or 'ask'."});e.keyWindowMs!==void 0&&qe(`${n}.keyWindowMs`,e.keyWindowMs),"findLagMs"in e&&qe(`${n}.findLagMs`,e.findLagMs)}function bs(t,e){let n=t.map(s=>s.dueAtMs).filter(s=>s!==null),r=t.findLast(s=>s.kind==="retry"),o=t.find(s=>s.kind==="person");return{wakeSeqSeen:e.wakeSeq,waitingFor:r!==void 0?"retry":o!==void 0?"person":au(t),wakeInMs:n.length===0?null:Math.max(0,Math.min(...n)-e.nowMs),reason:r?.reason??o?.reason??null,detail:r?.detail??o?.detail??null,failures:e.failures,branches:t.filter(iu).map(s=>({key:s.key,kind:s.kind,dueInMs:s.dueAtMs===null?null:Math.max(0,s.dueAtMs-e.nowMs)}))}}function au(t){return t.some(e=>e.kind==="signal")?"signal":"sleep"}function iu(t){return t.kind==="sleep"||t.kind==="signal"}function Yt(t){let e=Error.stackTraceLimit;Error.stackTraceLimit=1;let n=new Error("place");return Error.captureStackTrace(n,t),Error.stackTraceLimit=e,n}function Qt(t){return t.stack?.split(`
`)[1]?.trim()??"at an unknown place"}var Zt="",mt=class{#t;#e;constructor(e,n){this.#t=e,this.#e=n}async complete(e,n){let{db:r,statement:o}=this.#e,s;try{s=A(e,"the output")}catch(a){return this.deadLetter(L(a),n)}await x("complete.before",this.#t.taskId,null);try{if(await uo(r,this.#t,s,o("completing a task")))return await x("complete.after",this.#t.taskId,null),{kind:"completed"}}catch(a){if(!he(a))throw a;return this.deadLetter({...L(a),retryable:!1},n)}return await this.#s("completed")?{kind:"completed"}:{kind:"lost"}}async thrown(e,n,r){if(b(e,"ATTEMPT_ENDED"))return{kind:"lost"};let o=du(e),s=r.runTries+1,a=o.retryable?at(o,s,n,this.#e.random):{kind:"final"};if(a.kind==="final")return this.deadLetter(o,r);let{kind:i}=await this.#e.journal.store(this.#t.workerId,{...N,taskId:this.#t.taskId,attempt:this.#t.attempt,key:Zt,kind:"run",status:"failed",tries:s,error:J(o)});return i==="not_held"?{kind:"lost"}:this.#n(o,a.delayMs,{...r,failures:r.failures+1})}async#n(e,n,r){let{db:o,statement:s,onParked:a}=this.#e;for(let{wakeSeq:i}=r;;){let l={wakeSeqSeen:i,waitingFor:"retry",wakeInMs:n,reason:e.reason,detail:M(e.message),failures:r.failures,branches:[]};if(await it(o,this.#t,l,s("storing a back-off")))return a(n),{kind:"waiting",reason:e.reason};let d=await Ce(o,this.#t,s("reading what came in for a task"));if(d===null)return await this.isGivenUp()?{kind:"waiting",reason:e.reason}:{kind:"lost"};if(d.isCancelRequested)return this.cancel();i=d.wakeSeq}}async cancel(){let{db:e,statement:n}=this.#e;return await fo(e,this.#t,n("cancelling a task"))?{kind:"cancelled"}:await this.#s("cancelled")?{kind:"cancelled"}:{kind:"lost"}}async handOver(e){let{db:n,statement:r}=this.#e,o=await Ne(n,this.#t,{reason:e,detail:null},r("handing over a task"));return o===null?await this.isGivenUp()?{kind:"handed_over",reason:e}:{kind:"lost"}:(await this.#r([o.handler]),{kind:"handed_over",reason:e})}async deadLetter(e,{failures:n}){let{db:r,statement:o}=this.#e,{reason:s}=e,a={reason:s,error:J(e),detail:M(e.message),failures:n},i=await mo(r,this.#t,a,o("storing a dead letter"));return i===null&&!await this.#s("dead_letter")?this.cancel():(await this.#r(i??[]),{kind:"dead_letter",reason:s})}async isGivenUp(){let e=await this.#a();return e?.attempt===this.#t.attempt&&e.workerId===null}async#s(e){let n=await this.#a();return n?.status===e&&n.attempt===this.#t.attempt}#a(){return co(this.#e.db,this.#t,this.#e.statement("looking how an attempt ended"))}async#r(e){try{await C(this.#e.db,e,{doing:"announcing pending tasks",patienceMs:0})}catch{}}},lu={CODE_CHANGED:"code_changed",EFFECT_REQUEST_CHANGED:"effect_request_changed",EFFECT_UNKNOWN:"effect_unknown"};function du(t){let e=L(t);if(b(t,"STEP_FAILED")){let{key:r,reason:o}=t.details;return{...e,reason:o,retryable:!1,step:r}}let n=lu[e.code];return n===void 0?e:{...e,reason:n,retryable:!1,step:t.details.key}}var en=10,uu=1500,cu=3e4,fu=1e3,mu=10,pu=300,hu={reason:"deadline",code:"DEADLINE",message:"The task did not end before its deadline.",retryable:!1,afterMs:0,isDefinite:!1},pt=class{task;fence;services;retry;sinceMs;controller=new AbortController;entrance=Yt;#t;#e;#n;#s=new Map;#a=new Map;#r=new Set;#d;#p=()=>{};#l=null;#u=0;#o=0;#c=0;#i;#w;#h=null;#y=null;#g=null;#_=null;#k=!1;#m=!1;#x=!1;#E=0;constructor(e,n,r){this.task=e,this.services={...r,db:this.#P(r.db)},this.retry=n.retry,this.fence={taskId:e.id,attempt:e.attempt,workerId:r.workerId},this.sinceMs=r.clock.monotonicMs(),this.#t=n,this.#e=new mt(this.fence,{...r,statement:o=>this.statement(o)}),this.#n=new Map(e.steps.map(o=>[o.key,o])),this.#w=[...e.signals],this.#i=e.wakeSeq,this.#d=new Promise(o=>{this.#p=o})}get isSettling(){return this.#k}get isEnded(){return this.#l!==null}get signals(){return this.#w}async run(e){try{return this.task.isCancelRequested?this.stop("cancelled"):this.task.deadlineInMs!==null&&this.task.deadlineInMs<=0?this.stop("deadline"):this.#v(e),await this.#j(await this.#d)}catch(n){return this.services.logger.error({...this.#F(),error:n},"attempt could not be settled"),{kind:"lost"}}finally{this.#C()}}#v(e){let{deadlineInMs:n}=this.task;n!==null&&n<2**31&&(this.#_=setTimeout(()=>this.stop("deadline"),n)),this.#M(e).then(r=>this.#S({kind:"returned",output:r}),r=>this.#S({kind:"threw",error:r}))}async#M(e){let n=S(this.task.input);return this.#t.start(e,this.task.isInputChecked?n:await this.#t.checkInput(n))}#S(e){this.#l===null&&(this.#l=e,this.#C(),this.#p(e))}stop(e){let n=new f("ATTEMPT_ENDED",{reason:e});if(this.#l!==null){if(e==="cancelled")return;this.#m=!0,this.#T(n,{effectsToo:!0});return}this.#S({kind:"stopped",reason:e}),this.controller.abort(n),this.#T(n,{effectsToo:e!=="cancelled"})}#T(e,{effectsToo:n}){for(let r of this.#r)(n||!r.isEffect)&&r.controller.abort(e)}drain(e){this.#y??=e,this.#$()}async refresh(e){e<=this.#i||this.#l!==null||await this.#D()}async refuse(){this.#E+=1,this.#E>mu&&await new Promise(()=>{}),await new Promise(e=>setImmediate(e))}open(e,n,r){this.#I();let o=Yt(this.entrance),s=this.#s.get(e);if(s!==void 0)throw new f("STEP_KEY_REUSED",{key:e,first:Qt(s),second:Qt(o)});this.#s.set(e,o);let a=this.#n.get(e)??null;if(a!==null&&(a.kind!==n||a.version!==r))throw new f("CODE_CHANGED",{key:e,expected:`a ${n}, version ${r}`,stored:`a ${a.kind}, version ${a.version}`});return a}async enter(e){for(;this.#h!==null;)await this.#h;this.#I(),this.#y!==null&&await this.park({key:e,kind:"drain",dueAtMs:null,reason:null,detail:null}),this.#u+=1}leave(){this.#u-=1,this.#$()}openTry(e){let n={controller:new AbortController,isEffect:e};return this.#l!==null&&n.controller.abort(this.#O(this.#l)),this.#r.add(n),{signal:n.controller.signal,abort:r=>n.controller.abort(r),close:()=>this.#r.delete(n)}}async park(e){this.#I(),await new Promise(n=>{let r=()=>{let o=this.#a.get(e.key);o?.timer!==null&&o!==void 0&&clearTimeout(o.timer),this.#a.delete(e.key),n()};this.#a.set(e.key,{branch:e,wake:r,timer:this.#A(e,r)}),this.#$()})}#A(e,n){if(e.dueAtMs===null||e.kind==="drain")return null;let r=Math.max(e.dueAtMs-this.services.clock.monotonicMs(),2*en);return r<2**31?setTimeout(n,r):null}takeSignal(e){let n=this.#w.findIndex(r=>r.name===e);return n<0?null:this.#w.splice(n,1)[0]??null}async store(e){this.#c+=1;let n;try{n=await this.services.journal.store(this.fence.workerId,{...e,taskId:this.fence.taskId,attempt:this.fence.attempt})}catch(r){return this.#f(r,`what step ${JSON.stringify(e.key)} gave`)}finally{this.#c-=1}return n.kind==="not_held"&&this.loseLease(),e.status==="completed"&&(this.#x=!0),n}#f(e,n){if(b(e,"ATTEMPT_ENDED")||b(e,"CLOSED"))throw e;if(he(e)){let r=`PostgreSQL refuses it (${pe(e)}: ${e.message})`;throw new f("VALUE_NOT_STORABLE",{field:n,path:"$",what:r},{cause:e})}throw this.#l===null&&this.services.logger.error({...this.#F(),reason:"database_error",error:e},"a statement failed for good; the task is handed over"),this.stop("database_error"),new f("ATTEMPT_ENDED",{reason:"database_error"},{cause:e})}#P(e){return{...e,run:async(n,r,o)=>{try{return await e.run(n,r,o)}catch(s){return this.#f(s,o.doing)}}}}loseLease(){throw this.stop("lease_lost"),new f("ATTEMPT_ENDED",{reason:"lease_lost"})}async stored(e){let n=await H(this.services.db,this.fence.taskId,e,this.statement("reading a step"));return n!==null?n:await Ce(this.services.db,this.fence,this.statement("looking whether a task is still held"))===null?this.loseLease():null}countFailure(){this.#o+=1}statement(e){return{doing:e,patienceMs:Number.POSITIVE_INFINITY,signal:this.services.giveUp}}#I(){if(this.#l!==null)throw this.#O(this.#l)}#O(e){let{kind:n}=e,r=n==="stopped"?e.reason:n==="parked"?"waiting":n==="threw"?"step_failed":"completed";return new f("ATTEMPT_ENDED",{reason:r})}#$(){this.#l!==null||this.#g!==null||(this.#g=setTimeout(()=>{this.#g=null,this.#N()},en))}#N(){if(!(this.#l!==null||this.#u>0||this.#h!==null)){if(this.#y!==null)return this.stop(this.#y);this.#a.size!==0&&(this.#h=this.#L().catch(e=>this.#S({kind:"threw",error:e})).finally(()=>{this.#h=null,this.#$()}))}}async#L(){await x("park.before",this.fence.taskId,null);let e=bs([...this.#a.values()].map(r=>r.branch),{nowMs:this.services.clock.monotonicMs(),wakeSeq:this.#i,failures:this.#o});if(!await it(this.services.db,this.fence,e,this.statement("storing a wait")))return this.#D(e.reason);this.#S({kind:"parked",reason:e.reason}),this.controller.abort(new f("ATTEMPT_ENDED",{reason:"waiting"})),this.services.onParked(e.wakeInMs)}async#D(e=null){let n=await Ce(this.services.db,this.fence,this.statement("reading what came in for a task"));if(n===null){let r=await this.#e.isGivenUp();this.#S(r?{kind:"parked",reason:e}:{kind:"stopped",reason:"lease_lost"}),this.controller.abort(new f("ATTEMPT_ENDED",{reason:"lease_lost"}));return}if(this.#i=n.wakeSeq,this.#w=[...n.signals],n.isCancelRequested)return this.stop("cancelled");for(let{branch:r,wake:o}of this.#a.values())r.kind==="signal"&&n.signals.some(s=>s.name===r.signalName)&&o(),r.kind==="person"&&o()}#C(){for(let e of[this.#g,this.#_])e!==null&&clearTimeout(e);this.#g=null,this.#_=null;for(let{timer:e}of this.#a.values())e!==null&&clearTimeout(e)}async#j(e){switch((e.kind==="returned"||e.kind==="threw")&&await this.#U(e),this.#k=!0,e.kind){case"parked":return{kind:"waiting",reason:e.reason};case"returned":return this.#e.complete(e.output,this.#R());case"threw":return this.#e.thrown(e.error,this.retry,this.#R());case"stopped":return this.#W(e.reason)}}async#U(e){this.#u!==0&&(this.#T(this.#O(e),{effectsToo:!1}),await this.#b(()=>this.#u===0||this.#m,cu))}async#W(e){switch(e){case"lease_lost":return{kind:"lost"};case"cancelled":return await this.#b(()=>this.#u===0||this.#m,uu),this.#T(this.controller.signal.reason,{effectsToo:!0}),this.#e.cancel();case"deadline":return this.#e.deadLetter(hu,this.#R());case"graceful_shutdown":case"paused":return await this.#b(()=>this.#c===0,pu),this.#e.handOver(e);case"database_error":return await this.#b(()=>this.#m,fu),this.#e.handOver(e)}}#R(){let e=this.#x?0:this.#n.get(Zt)?.tries??0;return{wakeSeq:this.#i,failures:this.#o,runTries:e}}async#b(e,n){let r=this.services.clock.monotonicMs()+n;for(;!e()&&this.services.clock.monotonicMs()<r;)await D(en)}#F(){return{task:this.fence.taskId,attempt:this.fence.attempt,worker:this.fence.workerId}}};var Ts="/dead_letter";function As(t){let e=new Map;for(let n of t)for(let r of[n.version,...n.continues]){Ss(e,`${n.name}@${r}`,{agent:n.name,version:r,run:yu(n)});let o=gu(n);o!==null&&Ss(e,`${n.name}@${r}${Ts}`,{agent:n.name,version:r,run:o})}return e}function Ss(t,e,n){if(t.has(e))throw new f("INVALID_ARGUMENT",{field:"agents",problem:`${e} is given twice`,cure:"Give each agent and version once."});t.set(e,n)}function xs(t){return t.map(e=>({handler:`${e.name}@${e.version}`,name:e.name,version:e.version,deadlineMs:e["~code"].deadlineMs,hasDeadLetterHandler:e["~code"].onDeadLetter!==null}))}function Es(t){return t.flatMap(({name:e,"~code":{reasons:n,onDeadLetter:r}})=>(r===null?[e]:[e,`${e}${Ts}`]).map(s=>({agent:s,reasons:n})))}function vs(t){return t.replace(/@\d+(?=\/|$)/,"")}function yu(t){let e=t["~code"];return{retry:e.retry,start:(n,r)=>e.run(n,r),checkInput:n=>wu(t.name,e.input,n)}}function gu(t){let e=t["~code"],{onDeadLetter:n}=e;return n===null?null:{retry:e.retry,start:(r,o)=>{let{input:s,deadLetter:a}=o;return n(r,s,a)},checkInput:async r=>r}}async function wu(t,e,n){let r=await le(e,n);if(r.kind==="valid")return r.value;throw new f("INPUT_INVALID",{agent:t,issues:r.issues})}import{existsSync as ku}from"node:fs";import{Worker as tn}from"node:worker_threads";function $s(t,e){let n={workerData:e,...bu()},r=_u(t);if(t.text!==null&&(r===null||!ku(r)))return new tn(t.text,{eval:!0,...n});if(r===null)throw new Error(`The file of the thread ${t.name} cannot be found from a bundle.`);return r.pathname.endsWith(".js")||Su()?new tn(r,n):new tn(Tu(r),{eval:!0,...n})}function _u({url:t,name:e}){return t===void 0||!t.startsWith("file:")?null:new URL(e+(new URL(t).pathname.endsWith(".ts")?".ts":".js"),t)}var Ms=/^(--conditions|-C|--import|--require|-r|--loader|--experimental-loader)(=|$)/;function bu(){let t=process.execArgv;return t.some(n=>n.startsWith("--input-type"))?{execArgv:t.filter((n,r)=>{let o=t[r-1]??"";return Ms.test(n)||Ms.test(o)&&!o.includes("=")})}:{}}function Su(){return!!process.features.typescript}function Tu(t){let e=import.meta.resolve("tsx/esm/api");return`import(${JSON.stringify(e)}).then(({ register }) => {
    register()
    return import(${JSON.stringify(t.href)})
  })`}var xu=6,Eu=500;function Is(t,e,n){let r=new BigInt64Array(new SharedArrayBuffer(8)),o=()=>{Atomics.store(r,0,BigInt(Math.round(ue())))};o();let s=setInterval(o,Eu),a={url:import.meta.url,name:"./heartbeat-thread",text:null},i=$s(a,{...t,progress:r.buffer,stallMs:xu*t.leaseMs}),l=!1,d=new Promise(u=>{i.once("exit",()=>{clearInterval(s),u(),l||n(new Error("The heartbeat thread ended by itself."))})});return i.on("message",e),i.on("error",n),{send(u){o(),i.postMessage(u)},async stop(u){l=!0,i.postMessage({kind:"stop"});let c=setTimeout(()=>{i.terminate()},u);await d,clearTimeout(c)}}}var vu=500,Mu=4*1024*1024,Os=256*1024,$u=3;function Ds(t){let e=new AbortController,n=[],r=!1,o=[],s=0,a={doing:"storing steps",patienceMs:Number.POSITIVE_INFINITY,signal:e.signal};async function i(){r=!0;try{for(;n.length>0;){let{batch:c,rest:m}=Iu(n);n=m,await l(c)}}finally{r=!1}}async function l(c){let[m]=c;if(m!==void 0)try{let h=c.map(y=>y.write),p=await Gt(t,m.workerId,h,{...a,waitForLocks:!1});await Promise.all(c.map((y,g)=>u(y,p[g],{hasWaited:!1})))}catch(h){if(c.length>1&&he(h)){let p=Math.ceil(c.length/2);await l(c.slice(0,p)),await l(c.slice(p))}else for(let p of c)p.reject(h)}}async function d(){s+=1;for(let c=o.shift();c!==void 0;c=o.shift())try{let[m]=await Gt(t,c.workerId,[c.write],{...a,waitForLocks:!0});await u(c,m,{hasWaited:!0})}catch(m){c.reject(m)}s-=1}async function u(c,m,{hasWaited:h}){try{if(m===void 0)throw new Error("A batch answered with fewer rows than it was given.");if(m.held&&m.stored)return c.resolve({kind:"stored"});if(!m.held){if(h)return c.resolve({kind:"not_held"});o.push(c),s<$u&&d();return}let p=await H(t,c.write.taskId,c.write.key,a);if(p===null)throw new Error("A step that stood a moment ago is gone.");c.resolve({kind:"stands",step:p})}catch(p){c.reject(p)}}return{store(c,m){return new Promise((h,p)=>{if(e.signal.aborted)return p(new f("CLOSED",{}));let y=(m.output?.length??0)+(m.error?.length??0);n.push({workerId:c,write:m,bytes:y,resolve:h,reject:p}),r||i()})},close:c=>e.abort(c)}}function Iu(t){let e=[],n=[],r=new Set,o=0;for(let s of t){let a=`${s.write.taskId}
${s.write.key}`;(e.length===0||e.length<vu&&o+s.bytes<=Mu&&s.bytes<=Os&&e[0].bytes<=Os&&s.workerId===e[0].workerId)&&!r.has(a)?(e.push(s),o+=s.bytes):n.push(s),r.add(a)}return{batch:e,rest:n}}function Rs(t){let{clock:e,leaseMs:n,renew:r}=t,o=n-n/8,s={monotonicMs:Number.NEGATIVE_INFINITY,wallMs:Number.NEGATIVE_INFINITY},a=[],i=()=>e.monotonicMs()-s.monotonicMs<o&&e.wallMs()-s.wallMs<o;return{isGood:i,renewed(l){if(s=l,!i())return;let d=a;a=[];for(let u of d)u()},async ensureGood(l){for(;!i();)l.throwIfAborted(),r(),await new Promise((d,u)=>{let c=()=>u(l.reason);l.addEventListener("abort",c,{once:!0}),a.push(()=>{l.removeEventListener("abort",c),d()})});l.throwIfAborted()}}}function Ps(t){let e=new Map(t.rows.map(d=>[X(d),d])),n=[],r=[],o=[],s=[];for(let d of t.known){let u=e.get(X(d));e.delete(X(d)),!(d.isSettling||d.sinceMs>t.sentMs)&&(u===void 0?n.push(d):u.isCancelRequested?r.push(d):(s.push(u),u.isPaused&&o.push(d)))}let a=[],i=[],l=new Set;for(let[d,u]of e)u.claimId!==null&&t.claimsUnderWay.has(u.claimId)||(u.claimId!==null&&t.claimsLost.has(u.claimId)?a.push(u):t.strangersBefore.has(d)?i.push(u):l.add(d));return{lost:n,cancelled:r,paused:o,woken:s,adopt:a,handBack:i,strangers:l}}function X(t){return`${t.id}:${t.attempt}`}var Ru=20,Pu=6500,Nu=5e3,Ns=500,Ls=1e3,Cs=200,ke=250,Lu=1e3;function js(t){return new rn(t)}var rn=class{#t;#e;#n;#s;#a;#r=new Map;#d=new AbortController;#p=[];#l=[];#u=new Set;#o=Fs();#c="new";#i=null;#w=null;#h=null;#y=Number.POSITIVE_INFINITY;#g=()=>{};#_=0;#k=null;#m=null;#x=new Set;#E=!1;#v=!1;#M=()=>{};constructor(e){let{options:n}=e;if(this.#t=e,this.#e=As(n.agents),this.#n=nn("concurrency",n.concurrency??Ru,1,1e5),this.#s=nn("heartbeatMs",n.heartbeatMs??Nu,20,6e4),this.#a=nn("leaseMs",n.leaseMs??4*this.#s,2*this.#s,6e5),n.agents.length===0)throw new f("INVALID_ARGUMENT",{field:"agents",problem:"no agent is given"});e.meter.watch(this,Es(n.agents))}get id(){return this.#o}get status(){return this.#c}get running(){return this.#r.size}get concurrency(){return this.#n}get release(){return this.#t.options.release??"unlabelled"}get heartbeatAgeMs(){return this.#k===null?null:Z.monotonicMs()-this.#k}#S(){return this.#c!=="active"?`the worker is ${this.#c}`:(this.heartbeatAgeMs??Number.POSITIVE_INFINITY)<this.#a?null:"the database has not confirmed a heartbeat within the lease"}start(){if(this.#h!==null)throw new f("WORKER_STATE",{problem:"This worker was drained. Create a new one."});return this.#w??=this.#T(),this.#w}async#T(){let{openDatabase:e,openSessions:n,logger:r,startMaintenance:o}=this.#t;this.#m=await this.#t.openOperations(()=>this.#S());let s=e(),a=n();try{await ro(s,xs(this.#t.options.agents),this.#d.signal),await this.#A(s)}catch(d){throw await Promise.all([s.close(),a.close(),this.#m?.close()]),d}let i=Is({url:this.#t.directUrl,workerId:this.#o,heartbeatMs:this.#s,leaseMs:this.#a},d=>this.#C(d),d=>this.#R(d)),l=Rs({clock:Z,leaseMs:this.#a,renew:()=>i.send({kind:"beat"})});this.#i={db:s,sessions:a,heartbeat:i,lease:l,journal:Ds(s),chunks:rs(s,d=>r.warn({worker:this.#o,error:d},"stream chunks were lost")),maintenance:o({db:s,workerId:()=>this.#o}),claims:is({db:s,workerId:()=>this.#o,handlers:[...this.#e.keys()],freeSlots:()=>this.#n-this.#r.size,isIdle:()=>this.#r.size===0,onClaimed:d=>this.#P(d),onError:d=>this.#b(d)})},this.#c="active",Go(Fu),r.info({worker:this.#o,agents:[...this.#e.keys()],concurrency:this.#n},"worker started")}#A(e){return no(e,{id:this.#o,release:this.release,handlers:[...this.#e.keys()],concurrency:this.#n,heartbeatMs:this.#s,leaseMs:this.#a},this.#d.signal)}get#f(){if(this.#i===null)throw new f("WORKER_STATE",{problem:"This worker has not been started."});return this.#i}async#P(e){let n=new Map(e.map(({id:o,attempt:s})=>[o,s])),r=await Bo(this.#f.db,this.#o,[...n.keys()],this.#d.signal);for(let o of r)n.get(o.id)!==o.attempt||this.#r.has(X(o))||(this.#I(o),this.#c==="active"?this.#O(o):await this.#N(o));this.#D()}#I(e){for(let{execution:n}of this.#r.values())n.task.id===e.id&&n.stop("lease_lost")}#O(e){let{db:n,journal:r,chunks:o,lease:s,maintenance:a}=this.#f,{logger:i,meter:l}=this.#t,d=this.#e.get(e.handler);if(d===void 0)return;let u=new pt(e,d.run,{workerId:this.#o,db:n,journal:r,chunks:o,lease:s,clock:Z,logger:i,meter:l,random:Math.random,giveUp:this.#d.signal,onParked:h=>a.expectWake(h)}),c=_s(u,d,this.#f.sessions,()=>Date.now()+this.#_);i.info({task:e.id,agent:e.agent,attempt:e.attempt,worker:this.#o},"task claimed"),l.claimed(e.agent,e.recovery);let m=u.run(c).then(h=>this.#$(e,u,h));this.#r.set(X(e),{execution:u,ended:m})}#$(e,n,r){this.#r.delete(X(e)),this.#t.meter.attemptEnded(e.agent,r),r.kind==="handed_over"&&this.#c!=="active"&&this.#p.push(e.id);let o={task:e.id,agent:e.agent,attempt:e.attempt,worker:n.fence.workerId},s=r.kind==="dead_letter"?{reason:r.reason}:{},a=r.kind==="dead_letter"||r.kind==="lost"?"warn":"info";return this.#t.logger[a]({...o,...s},Cu[r.kind]),this.#i?.claims.wake(),this.#D(),r}async#N(e){let n={taskId:e.id,attempt:e.attempt,workerId:this.#o},r={doing:"handing back a task",patienceMs:Number.POSITIVE_INFINITY,signal:this.#d.signal},o={reason:"graceful_shutdown",detail:"claimed, not started"},s=await Ne(this.#f.db,n,o,r);s!==null&&(this.#L(e.id,s.handler),await C(this.#f.db,[s.handler],{doing:"announcing a task",patienceMs:0}).catch(()=>{}))}#L(e,n){this.#p.push(e),this.#t.meter.attemptEnded(vs(n),{kind:"handed_over"})}#D(){this.#i?.heartbeat.send({kind:"running",running:this.#r.size})}#C(e){switch(e.kind){case"renewed":if(e.workerId!==this.#o)return;this.#_=e.databaseMs-e.sent.wallMs,this.#k=e.sent.monotonicMs,this.#f.lease.renewed(e.sent);return;case"fenced":e.workerId===this.#o&&this.#W();return;case"ping":e.workerId===this.#o&&this.#j(e);return;case"pending":this.#e.has(e.handler)&&this.#f.claims.wake();return;case"pauses":this.#f.claims.wake(),this.#f.maintenance.pausesChanged();return;case"trouble":this.#t.logger.warn({worker:this.#o,message:e.message},"heartbeat has lost the database");return;case"recovered":this.#t.logger.info({worker:this.#o},"heartbeat has the database again"),this.#f.claims.wake();return}}#j(e){let{claims:n}=this.#f,r=Ps({sentMs:e.sent.monotonicMs,rows:e.rows,known:[...this.#r.values()].map(({execution:a})=>({id:a.task.id,attempt:a.task.attempt,sinceMs:a.sinceMs,isSettling:a.isSettling})),claimsUnderWay:n.claimsUnderWay,claimsLost:n.claimsLost,strangersBefore:this.#u});this.#u=r.strangers;let o=a=>this.#r.get(X(a))?.execution;for(let a of r.lost)o(a)?.stop("lease_lost");for(let a of r.cancelled)o(a)?.stop("cancelled");for(let a of r.paused)o(a)?.drain("paused");for(let a of r.woken)o(a)?.refresh(a.wakeSeq).catch(i=>this.#b(i));let s=r.adopt.filter(({id:a})=>!this.#x.has(a));s.length>0&&this.#U(s);for(let a of r.handBack)this.#N(a).catch(i=>this.#b(i))}async#U(e){for(let{id:n}of e)this.#x.add(n);try{await this.#P(e)}catch(n){this.#b(n)}finally{for(let{id:n}of e)this.#x.delete(n)}}async#W(){let{logger:e}=this.#t,n=this.#o;for(let{execution:r}of this.#r.values())r.stop("lease_lost");for(this.#o=Fs(),e.error({worker:n,reason:"lease_lost",successor:this.#o},"worker was declared lost; it begins anew");this.#c==="active";)try{await this.#A(this.#f.db),this.#f.heartbeat.send({kind:"identity",workerId:this.#o});return}catch(r){this.#b(r),await D(Lu,this.#d.signal)}}#R(e){this.#t.logger.error({worker:this.#o,error:e},"heartbeat thread died; the worker drains"),this.#E=!0,this.#v=!0,this.drain()}#b(e){this.#c==="stopped"||this.#d.signal.aborted||this.#t.logger.warn({worker:this.#o,error:e},"trouble with the database")}drain({graceMs:e=this.#t.options.graceMs??Pu}={}){let n=Z.monotonicMs()+e;return n<this.#y&&(this.#y=n,this.#g()),this.#h===null&&(this.#h=this.#F(),this.#h.then(r=>this.#M(r))),this.#h}async#F(){if(this.#i===null&&(this.#d.abort(new f("WORKER_STATE",{problem:"The worker was stopped before it had started."})),await this.#w?.catch(()=>{})),this.#i===null)return this.#c="stopped",{handedOver:[],leftBehind:[]};let{db:e,sessions:n,heartbeat:r,journal:o,chunks:s,maintenance:a,claims:i}=this.#i,{logger:l}=this.#t;this.#c="draining",l.info({worker:this.#o,running:this.#r.size},"drain started");let d=ao(e,this.#o,this.#q()).catch(c=>this.#b(c));for(let{execution:c}of this.#r.values())c.drain("graceful_shutdown");await this.#G(Promise.all([i.stop(),d,a.stop()])),await this.#G(this.#H());for(let{execution:c}of this.#r.values())c.stop("graceful_shutdown");await He(this.#H(),Ns+Cs),this.#l=[...this.#r.values()].map(({execution:c})=>c.task.id),this.#d.abort(new f("ATTEMPT_ENDED",{reason:"graceful_shutdown"})),o.close(new f("ATTEMPT_ENDED",{reason:"graceful_shutdown"})),await Promise.all([He(s.close(),ke),He(this.#K(e),ke),r.stop(ke)]),await He(io(e,this.#o,ke),ke),await He(Promise.all([e.close(),n.close()]),Cs),this.#c="stopped",await this.#m?.close();let u={handedOver:this.#p,leftBehind:this.#l};return u.leftBehind.length>0?l.error({worker:this.#o,tasks:u.leftBehind},"worker stopped; these tasks are left to the sweep"):l.info({worker:this.#o,handedOver:u.handedOver.length},"worker stopped"),u}async#K(e){let n={doing:"handing back what is left",patienceMs:ke},r={reason:"graceful_shutdown",detail:"left when its worker stopped"};for(let{id:o,attempt:s}of await oo(e,this.#o,n)){let a=await Ne(e,{taskId:o,attempt:s,workerId:this.#o},r,n);a!==null&&(this.#L(o,a.handler),this.#l=this.#l.filter(i=>i!==o))}}async#H(){for(;this.#r.size>0;)await Promise.all([...this.#r.values()].map(({ended:e})=>e))}#q(){return Math.max(0,this.#y-Ns-Z.monotonicMs())}async#G(e){let n=new AbortController,r=e.catch(o=>this.#b(o)).finally(()=>n.abort());for(;!n.signal.aborted&&this.#q()>0;){let o=new AbortController;this.#g=()=>o.abort();let s=AbortSignal.any([n.signal,o.signal]);await Promise.race([r,D(this.#q(),s)])}n.abort()}async run(){let e=new Promise(r=>{this.#M=r}),n=Ho((r,o)=>{let s=r==="SIGINT"&&o>1&&process.stdin.isTTY===!0;this.#v=!0,this.drain(s?{graceMs:0}:{})});try{await this.start().catch(s=>{if(this.#h===null)throw s});let r=await e;if((r.leftBehind.length>0||this.#E)&&(process.exitCode=1),!this.#v)return r;let o=this.#y+Ls-Z.monotonicMs();return setTimeout(()=>process.exit(),Math.min(Ls,Math.max(100,o))).unref(),r}finally{n()}}},Cu={completed:"task completed",cancelled:"task cancelled",waiting:"task waits",handed_over:"task handed over",lost:"attempt is no longer ours",dead_letter:"task is a dead letter"};function Fu(t){return b(t,"ATTEMPT_ENDED")||b(t,"STEP_FAILED")}function Fs(){let t=Math.round(performance.timeOrigin);return`${Du().slice(0,200)}:${process.pid}:${t}:${Ou(4).toString("hex")}`}async function He(t,e){let n,r=new Promise(o=>{n=setTimeout(o,e)});await Promise.race([t.then(()=>{},()=>{}),r]),clearTimeout(n)}function nn(t,e,n,r){if(Number.isFinite(e)&&e>=n&&e<=r)return e;throw new f("INVALID_ARGUMENT",{field:t,problem:`${String(e)} is not a number from ${n} to ${r}`})}var ju=10,Uu=5e3;async function Wu(t,e={}){if(t===void 0||t==="")throw new f("DATABASE_URL_MISSING",{});let{alerts:n=[]}=e;eo(n);let r=Ku(e.logger),o=e.directUrl??t;e.migrate!==!1&&await No({url:o,log:y=>r.info({},y),signal:e.signal});let s=y=>Ro({url:t,poolSize:y,onTrouble:g=>r.debug({error:g},"a database connection failed")}),a=e.poolSize??ju,i=s(a);e.migrate===!1&&await qu(i,e.signal);let l=Uo(i,r),d=vo(i),{meter:u}=d,c=Dr({db:i,notifier:l,meter:u}),m=new Set,h=null,p=async()=>{await Promise.all([...m].map(y=>y.drain())),c.stopWatching(),l.close(),d.stop(),await i.close()};return{...c,metrics:y=>d.mergeInto(y),exposition:()=>d.exposition(),worker(y){y.operations!==void 0&&Oo(y.operations);let g=js({options:y,directUrl:o,logger:r,meter:u,openDatabase:()=>s(a),openSessions:()=>s(a),openOperations:w=>Hu(y,{notReady:w,exposition:()=>d.exposition()},r),startMaintenance:w=>Gu(w,y,{alerts:n,logger:r,meter:u})});return m.add(g),g},close(){return h??=p(),h}}}async function qu(t,e){try{await Nt(Lo(t,e),e)}catch(n){throw await Nt(t.close(),e).catch(()=>{}),n}}async function Hu({operations:t},e,n){if(t===void 0)return null;let r=await Do(t,e);return n.info({url:r.url},"operations port listens"),r}function Gu(t,{heartbeatMs:e=Uu,leaseMs:n=4*e},{alerts:r,logger:o,meter:s}){let a=u=>o.debug({worker:t.workerId(),error:u},"a maintenance round failed"),i=yo({...t,heartbeatMs:e,leaseMs:n,logger:o,meter:s,onError:a}),l=po({...t,logger:o,onError:a}),d=Zr({db:t.db,channels:r,logger:o,onError:a});return{expectWake:u=>l.expect(u),pausesChanged:()=>l.wake(),async stop(){await Promise.all([i.stop(),l.stop(),d.stop()])}}}function Ku(t){return t==="silent"?Lr:t??Nr()}import{readFileSync as Vu}from"node:fs";import{basename as Bu,dirname as Us,isAbsolute as zu,join as ne,resolve as on}from"node:path";function Ju({env:t,cwd:e}){return Zu(t)??Ws(e,ec)??Ws(e,rc)}var Xu=["FOOTHOLD_RELEASE","RELEASE","GIT_SHA","GIT_COMMIT","COMMIT_SHA","CI_COMMIT_SHA","CI_COMMIT_SHORT_SHA","GITHUB_SHA","RENDER_GIT_COMMIT","HEROKU_SLUG_COMMIT","HEROKU_BUILD_COMMIT","VERCEL_GIT_COMMIT_SHA","RAILWAY_GIT_COMMIT_SHA","SOURCE_COMMIT","SOURCE_VERSION","K_REVISION","CONTAINER_APP_REVISION","FLY_MACHINE_VERSION"],Yu=100,Qu=12,qs=/^([0-9a-f]{40}|[0-9a-f]{64})$/i;function Zu(t){for(let e of Xu){let n=t[e]?.trim();if(n!==void 0&&n!=="")return sn(n)}}function sn(t){return qs.test(t)?t.slice(0,Qu).toLowerCase():t.slice(0,Yu)}function Ws(t,e){for(let n=on(t);;n=Us(n)){let r=e(n);if(r!==void 0||n===Us(n))return r}}function ec(t){let e=tc(t);if(e===void 0)return;let n=re(ne(e,"HEAD"))?.trim(),r=/^ref: (.+)$/.exec(n??"")?.[1],o=r===void 0?n:nc(e,r);return o!==void 0&&qs.test(o)?sn(o):void 0}function tc(t){let e=ne(t,".git");if(re(ne(e,"HEAD"))!==void 0)return e;let n=/^gitdir: (.+)$/m.exec(re(e)??"")?.[1]?.trim();return n===void 0?void 0:zu(n)?n:on(t,n)}function nc(t,e){let n=re(ne(t,"commondir"))?.trim(),r=n===void 0?[t]:[t,on(t,n)];for(let o of r){let s=re(ne(o,e))?.trim();if(s!==void 0)return s;let i=re(ne(o,"packed-refs"))?.split(`
`).find(l=>l.endsWith(` ${e}`));if(i!==void 0)return i.split(" ")[0]}}function rc(t){try{let{name:e,version:n}=JSON.parse(re(ne(t,"package.json"))??"{}");return typeof n!="string"?void 0:sn(`${typeof e=="string"?e:Bu(t)}@${n}`)}catch{return}}function re(t){try{return Vu(t,"utf8")}catch{return}}var oc=9e5;function sc(t){let{name:e,version:n=1,continues:r=[],input:o,retry:s={},deadlineMs:a=oc,reasons:i=[]}=t;O("agent.name",e);for(let l of[n,...r])if(!Number.isInteger(l)||l<1)throw new f("INVALID_ARGUMENT",{field:l===n?"agent.version":"agent.continues",problem:`${String(l)} is not a whole number of 1 or more`});for(let l of i)O("agent.reasons",l);return an("agent.deadlineMs",a,1),an("agent.retry.firstDelayMs",s.firstDelayMs,0),an("agent.retry.delayMaxMs",s.delayMaxMs,0),{name:e,version:n,continues:r,"~code":{input:o,retry:s,deadlineMs:Math.ceil(a),reasons:i,run:(l,d)=>t.run(l,d),onDeadLetter:"onDeadLetter"in t?async(l,d,u)=>t.onDeadLetter?.(l,d,u):null}}}var Hs=2**31-1;function an(t,e,n){if(!(e===void 0||typeof e=="number"&&e>=n&&e<=Hs))throw new f("INVALID_ARGUMENT",{field:t,problem:`${String(e)} is not a number of milliseconds from ${n} to ${Hs}`})}function ac(t){return O("agent.name",t),{name:t}}function ic(t,e){return O("signal.name",t),{name:t,schema:e}}function ln(t,e){let n=Array.from(t.slice(0,4*e));return n.length<=e?t:`${n.slice(0,e-1).join("")}\u2026`}var lc=5,Gs=8,dc=400,uc=100;function cc(t){let{budgets:e,at:n}=t,r=t.tenant===null?"":`, tenant ${t.tenant}`;return[["task",`${t.id}  ${t.agent}@${t.version}${r}`],["stands",`${t.status} since ${t.since.toISOString()} (${q(t.since,n)})`],["why",ln(t.why,dc)],...Ks("release",hc(t.release,n)),["budgets",`errors ${e.errors}, crashes ${e.crashes}/${e.crashesMax}, deploys ${e.deploys}`],...Ks("outside",pc(t.outside)),[t.status==="dead_letter"?"resume":"goes on",fc(t)],...yc(t),...t.next.map((o,s)=>[s===0?"next":"",o])]}function Ks(t,e){return e===null?[]:[[t,e]]}function fc({status:t,goesOn:e,repeats:n,leftInDoubt:r,stored:o}){let s=r.filter(({does:l})=>l==="ask").map(({step:l})=>l),a=r.filter(({does:l})=>l==="tell").map(({step:l})=>l),i=[`will repeat: ${n.length===0?"nothing":n.map(mc).join(", ")}`,...s.length===0?[]:[`a person is asked about: ${_e(s)}`],...a.length===0?[]:[`stays unknown: ${_e(a)}`],`will not repeat: ${_e(o)}`];switch(e){case"never":return"it has ended";case"in_vain":return`in vain, it would end at the same place; ${i.join("; ")}`;case"by_itself":return`${t==="processing"?"whoever takes over":"the next attempt"} ${i.join("; ")}`;case"by_resume":return i.join("; ")}}function _e(t){if(t.length===0)return"nothing";let e=t.length-Gs;return`${e>0?`(${e} earlier ones) `:""}${t.slice(-Gs).join(", ")}`}function mc({step:t,does:e}){switch(e){case"run":return t;case"send":return`${t} (sent under a new key)`;case"send_again":return`${t} (in doubt: the same request under the same key)`;case"look_up":return`${t} (in doubt: looked up first, sent only if it is not found)`;case"settle":return`${t} (in doubt: settled first)`}}function pc({done:t,inDoubt:e,refused:n,followUp:r}){let o=[...t.length===0?[]:[`done: ${_e(t)}`],...e.length===0?[]:[`in doubt: ${_e(e)}`],...n.length===0?[]:[`refused: ${_e(n)}`],...r===null?[]:[`follow-up ${r.id} ${r.status}`]];return o.length===0?null:o.join("; ")}function hc(t,e){switch(t.kind){case"no_failure":return null;case"perhaps":{let{release:n,since:r,before:o}=t,s=`${o.release} did, last ${q(o.lastSuccessAt,e)}`;return`perhaps it: ${n} came ${q(r,e)} and has completed no task of this agent; ${s}`}case"unlikely":{let{release:n,lastSuccessAt:r,also:o}=t;return r===null?`hardly: it failed under ${o??"another"} before ${n} came`:`hardly: ${n} has completed other tasks of this agent, last ${q(r,e)}`}case"unknown":return t.release===null?"unknown: the worker that failed had no release label, or is not registered any more":`unknown: it failed under ${t.release}, and no earlier release has completed a task of this agent lately`}}function yc({attempts:t}){let e=t.slice(-lc),n=t.length-e.length;return e.length===0?[["attempts","none has ended"]]:e.map(({attempt:r,outcome:o,reason:s,detail:a,startedAt:i,endedAt:l,workerId:d},u)=>{let c=s===null||s===o?"":` (${s})`,m=B(l.getTime()-i.getTime()),h=a===null?"":`: ${ln(a,uc)}`,p=u===0&&n>0?`  (${n} earlier ones not shown)`:"";return[u===0?"attempts":"",`${r}  ${o}${c} after ${m} by ${d}${h}${p}`]})}export{Bs as ERROR_CODES,f as FootholdError,$e as PAUSE_KINDS,se as PRIORITIES,Oe as REASONS,Y as ReasonedError,Se as RetryError,St as TASK_STATUSES,yt as TerminalError,sc as agent,ac as agentRef,Wu as connect,Ju as detectRelease,cc as explanationFields,b as isFootholdError,ic as signal};
