import type { Answers } from '../ports.ts'

/**
 * Writes the app's own rows inside the engine's transaction: they commit with the step, or not at all. Each table has one
 * row per task; a task that a person resumed or restarted replaces its own.
 */
export const answers: Answers = {
  async save(sql, { taskId, clientId, language, outcome, request, draft, problems, reply }) {
    await sql.query(
      `insert into support.answers (task_id, client_id, language, outcome, draft, problems)
       values ($1, $2, $3, $4, $5, $6)
       on conflict (task_id) do update set (language, outcome, draft, problems, created_at)
         = (excluded.language, excluded.outcome, excluded.draft, excluded.problems, excluded.created_at)`,
      [taskId, clientId, language, outcome, draft, problems],
    )
    await sql.query(
      `insert into support.exchanges (task_id, client_id, request, answer, outcome) values ($1, $2, $3, $4, $5)
       on conflict (task_id) do update set (answer, outcome, embedding, embedding_model)
         = (excluded.answer, excluded.outcome, null, null)`,
      [taskId, clientId, request, reply, outcome],
    )
    await sql.query(
      `insert into support.replies (task_id, client_id, language, outcome, body) values ($1, $2, $3, $4, $5)
       on conflict (task_id) do update set (language, outcome, body, created_at)
         = (excluded.language, excluded.outcome, excluded.body, excluded.created_at)`,
      [taskId, clientId, language, outcome, reply],
    )
  },

  async saveReplyOnce(sql, { taskId, clientId, language, outcome, reply }) {
    const { rowCount } = await sql.query(
      `insert into support.replies (task_id, client_id, language, outcome, body) values ($1, $2, $3, $4, $5)
       on conflict (task_id) do nothing`,
      [taskId, clientId, language, outcome, reply],
    )
    return { stored: rowCount === 1 }
  },
}
