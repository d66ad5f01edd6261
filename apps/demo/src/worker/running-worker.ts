export interface RunningWorker {
  /** On SIGTERM: as this kind of worker does it. */
  stop(): Promise<{ readonly handedOver: number }>
}
