/**
 * heartbeat-thread.ts, its imports and the driver in one CommonJS script, for programs that are bundled into one file.
 * Written into the built package when it is packed (tools/pack).
 */
export const HEARTBEAT_THREAD_TEXT: string | null = null
