/** How a request ended for the client. */
export type Outcome = 'answered' | 'handed_to_person'
