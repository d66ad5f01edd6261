import { telegramAlerts, webhookAlerts } from '@foothold/server/alerts'
import type { AlertChannel } from 'foothold'
import type { OnCallConfig, TelegramConfig } from '../config.ts'

/** Where this app's dead letters are told: the on-call chat, by the bot that also writes to managers, and a webhook. */
export function alertChannels(onCall: OnCallConfig, telegram: TelegramConfig): AlertChannel[] {
  const { chatId, webhook, language } = onCall
  const channels: AlertChannel[] = []
  if (chatId !== null) {
    channels.push(telegramAlerts({ token: telegram.token, apiRoot: telegram.apiRoot, chatId, language }))
  }
  if (webhook !== null) {
    channels.push(webhookAlerts({ url: webhook.url, token: webhook.token ?? undefined, language }))
  }
  return channels
}
