/** The alert of every row in `dead` (id, reason), for the statement that made them dead letters. */
export const INSERT_ALERTS: string = `
  insert_alert as (
    insert into foothold.alerts (task_id, attempt, agent, reason, at)
    select t.id, t.attempt, t.agent, dead.reason, foothold.clock() from dead join foothold.tasks t on t.id = dead.id
    on conflict do nothing)`
