import type { Simulators } from './simulators.ts'

/** All that a process needs to use the simulators, as plain data: what main.ts prints. */
export interface SimulatorAddresses {
  readonly gigachat: {
    readonly baseUrl: string
    readonly authUrl: string
    readonly url: string
    readonly credentials: string
  }
  readonly crm: { readonly baseUrl: string; readonly url: string }
  readonly telegram: {
    readonly apiRoot: string
    readonly url: string
    readonly token: string
    readonly defaultChatId: string
  }
}

export function addressesOf({ gigachat, crm, telegram }: Simulators): SimulatorAddresses {
  return {
    gigachat: {
      baseUrl: gigachat.baseUrl,
      authUrl: gigachat.authUrl,
      url: gigachat.url,
      credentials: gigachat.credentials,
    },
    crm: { baseUrl: crm.baseUrl, url: crm.url },
    telegram: {
      apiRoot: telegram.apiRoot,
      url: telegram.url,
      token: telegram.token,
      defaultChatId: telegram.defaultChatId,
    },
  }
}
