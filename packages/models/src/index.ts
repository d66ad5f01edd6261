export type {
  GenerateLimits,
  GenerateObjectOptions,
  GeneratePrompt,
  GenerateTextOptions,
} from './generate/generate.ts'
export { generate } from './generate/generate.ts'
export type { GigaChat, GigaChatOptions } from './gigachat/gigachat.ts'
export { gigachat } from './gigachat/gigachat.ts'
export type {
  EmbeddingModel,
  JsonSchema,
  LlmCallOptions,
  LlmEvent,
  LlmFunction,
  LlmMessage,
  LlmModel,
  LlmRequest,
} from './port.ts'
