import type { Command } from './command.ts'
import { adopt } from './commands/adopt.ts'
import { approvals } from './commands/approvals.ts'
import { approve, reject } from './commands/approve.ts'
import { deadLetters } from './commands/dead-letters.ts'
import { decide } from './commands/decide.ts'
import { demo } from './commands/demo.ts'
import { dev } from './commands/dev.ts'
import { doctor } from './commands/doctor.ts'
import { lifeline } from './commands/lifeline.ts'
import { limitsList } from './commands/limits-list.ts'
import { limitsRemove } from './commands/limits-remove.ts'
import { limitsSet } from './commands/limits-set.ts'
import { migrate } from './commands/migrate.ts'
import { pause } from './commands/pause.ts'
import { pauses } from './commands/pauses.ts'
import { prune } from './commands/prune.ts'
import { schedulesList } from './commands/schedules-list.ts'
import { schedulesPause } from './commands/schedules-pause.ts'
import { schedulesRemove } from './commands/schedules-remove.ts'
import { schedulesSet } from './commands/schedules-set.ts'
import { schedulesUnpause } from './commands/schedules-unpause.ts'
import { server } from './commands/server.ts'
import { tasksCancel } from './commands/tasks-cancel.ts'
import { tasksList } from './commands/tasks-list.ts'
import { tasksRestart } from './commands/tasks-restart.ts'
import { tasksResume } from './commands/tasks-resume.ts'
import { tasksShow } from './commands/tasks-show.ts'
import { tasksWatch } from './commands/tasks-watch.ts'
import { unpause } from './commands/unpause.ts'
import { why } from './commands/why.ts'
import { worker } from './commands/worker.ts'
import { workers } from './commands/workers.ts'

/** In the order of the help. */
export const COMMANDS: readonly Command[] = [
  demo,
  dev,
  migrate,
  worker,
  server,
  tasksList,
  tasksShow,
  tasksWatch,
  tasksCancel,
  tasksResume,
  tasksRestart,
  approvals,
  approve,
  reject,
  decide,
  deadLetters,
  pause,
  unpause,
  pauses,
  schedulesList,
  schedulesSet,
  schedulesPause,
  schedulesUnpause,
  schedulesRemove,
  limitsList,
  limitsSet,
  limitsRemove,
  workers,
  lifeline,
  why,
  adopt,
  prune,
  doctor,
]
