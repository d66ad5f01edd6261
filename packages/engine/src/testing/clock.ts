import pg from 'pg'

/** Moves the one clock that every statement of this database reads. Deadlines of steps that run are the process's own. */
export interface MovableClock {
  /** Forward, or back with a negative number; adds up. */
  advance(ms: number): Promise<void>
  reset(): Promise<void>
}

export function movableClock(url: string): MovableClock {
  let offsetMs = 0
  // Two replacements of one function at once fail with "tuple concurrently updated".
  let last: Promise<void> = Promise.resolve()
  const set = (next: () => number): Promise<void> => {
    const moved = last.then(async () => {
      const wanted = next()
      await replaceClock(url, wanted)
      offsetMs = wanted
    })
    last = moved.catch(() => {})
    return moved
  }
  return {
    advance(ms) {
      if (!Number.isFinite(ms)) throw new RangeError(`advance(ms): ${ms} is not a number of milliseconds`)
      return set(() => offsetMs + ms)
    },
    reset: () => set(() => 0),
  }
}

async function replaceClock(url: string, offsetMs: number): Promise<void> {
  const client = new pg.Client({ connectionString: url, application_name: 'foothold testing' })
  await client.connect()
  try {
    const moved = offsetMs === 0 ? '' : ` + interval '${offsetMs} milliseconds'`
    await client.query(
      `create or replace function foothold.clock() returns timestamptz language sql volatile as $$select clock_timestamp()${moved}$$`,
    )
  } finally {
    await client.end()
  }
}
