import { describe, expect, test } from 'vitest'
import { readClientConfig, readConfig, requireSet } from '../src/config.ts'

test('nothing set is a system on this machine that brings its own stand-ins', () => {
  expect(readConfig({})).toMatchObject({
    databaseUrl: null,
    gigachat: null,
    crm: null,
    telegram: null,
    host: '127.0.0.1',
    port: 4_400,
    workers: 2,
    concurrency: 20,
    replyPolicy: 'public_and_loopback',
  })
})

test('a variable that is empty is one that is not set', () => {
  expect(readConfig({ DATABASE_URL: '', PORT: ' ', CRM_URL: '' })).toMatchObject({
    databaseUrl: null,
    port: 4_400,
    crm: null,
  })
})

test('the real services are used where they are named', () => {
  const config = readConfig({
    GIGACHAT_CREDENTIALS: 'aWQ6c2VjcmV0',
    CRM_URL: 'https://example.bitrix24.ru/rest/1/secret/',
    CRM_KEYS: '1',
    TELEGRAM_BOT_TOKEN: '123:abc',
  })

  expect(config.gigachat).toMatchObject({
    scope: 'GIGACHAT_API_PERS',
    baseUrl: 'https://gigachat.devices.sberbank.ru/api/v1',
    authUrl: 'https://ngw.devices.sberbank.ru:9443/api/v2/oauth',
    model: 'GigaChat-2-Pro',
  })
  expect(config.crm).toEqual({ url: 'https://example.bitrix24.ru/rest/1/secret/', hasKeys: true })
  expect(config.telegram).toMatchObject({ apiRoot: 'https://api.telegram.org', defaultChatId: null })
})

test('on-call is told where it says, in its language', () => {
  expect(readConfig({}).onCall).toEqual({ chatId: null, webhook: null, language: 'en' })
  const onCall = readConfig({
    ONCALL_TELEGRAM_CHAT_ID: '-100200300',
    ONCALL_WEBHOOK_URL: 'https://pager.example/hook',
    ONCALL_WEBHOOK_TOKEN: 't',
    ONCALL_LANGUAGE: 'ru',
  }).onCall
  expect(onCall).toEqual({
    chatId: '-100200300',
    webhook: { url: 'https://pager.example/hook', token: 't' },
    language: 'ru',
  })
})

describe('what is wrong is named with its variable and its cure, and without its value where that is a secret', () => {
  test.each([
    [{ PORT: '70000' }, 'PORT is "70000": use a whole number from 0 to 65535'],
    [{ CONCURRENCY: '0' }, 'CONCURRENCY is "0": use a whole number from 1 to 1000'],
    [{ WORKERS: 'два' }, 'WORKERS is "два": use a whole number from 1 to 64'],
    [{ DATABASE_URL: 'mysql://root:geheim@x/y' }, 'DATABASE_URL is not an address of the expected kind'],
    [{ CRM_URL: 'geheim' }, 'CRM_URL is not an address'],
    [{ TELEGRAM_BOT_TOKEN: 'geheim' }, 'TELEGRAM_BOT_TOKEN is not a bot token'],
    [{ GIGACHAT_CREDENTIALS: 'x', GIGACHAT_CA_FILE: '/no/such/file.pem' }, 'GIGACHAT_CA_FILE cannot be read (ENOENT)'],
    [{ REPLY_TO: 'everywhere' }, 'REPLY_TO is "everywhere": use public, loopback'],
    [{ ONCALL_TELEGRAM_CHAT_ID: 'дежурные' }, 'ONCALL_TELEGRAM_CHAT_ID is not a chat id'],
    [{ ONCALL_TELEGRAM_CHAT_ID: '5', TELEGRAM_DEFAULT_CHAT_ID: '5', TELEGRAM_BOT_TOKEN: '1:a' }, 'a chat of its own'],
    [{ ONCALL_WEBHOOK_URL: 'geheim' }, 'ONCALL_WEBHOOK_URL is not an address'],
    [{ ONCALL_LANGUAGE: 'de' }, 'ONCALL_LANGUAGE is "de": use en or ru'],
    [{ DEADLINE_SECONDS: '0' }, 'DEADLINE_SECONDS is "0": use a whole number from 1 to 86400'],
    [{ CRM_URL: 'http://x', CRM_KEYS: 'maybe' }, 'CRM_KEYS is "maybe": use 1 or 0'],
  ])('%j', (environment, said) => {
    expect(() => readConfig(environment)).toThrow(said)
    expect(() => readConfig(environment)).not.toThrow('geheim')
  })

  test('all of it at once', () => {
    expect(() => readConfig({ PORT: 'x', WORKERS: 'y' })).toThrow(/PORT[^]*WORKERS/)
  })

  test('what a mode cannot do without', () => {
    expect(() => requireSet(readConfig({}), ['databaseUrl', 'crm'])).toThrow('DATABASE_URL, CRM_URL are not set')
  })
})

test('a server that others can reach sends replies to the public internet alone, unless told', () => {
  expect(readConfig({ HOST: '0.0.0.0' }).replyPolicy).toBe('public')
  expect(readConfig({ HOST: '0.0.0.0', REPLY_TO: 'any' }).replyPolicy).toBe('any')
})

test('questions go to the server of npm start, unless told', () => {
  expect(readClientConfig({}).url).toBe('http://127.0.0.1:4400')
  expect(readClientConfig({ PORT: '4500' }).url).toBe('http://127.0.0.1:4500')
  expect(readClientConfig({ FOOTHOLD_URL: 'https://example.com/foothold' }).url).toBe('https://example.com/foothold')
})

test('a worker has a port of its own where one is named', () => {
  expect(readConfig({ OPERATIONS_HOST: '0.0.0.0' }).operations).toBeNull()
  expect(readConfig({ OPERATIONS_PORT: '9464' }).operations).toEqual({ port: 9464, host: '127.0.0.1' })
  expect(() => readConfig({ OPERATIONS_PORT: 'metrics' })).toThrow(/OPERATIONS_PORT is "metrics"/)
})
