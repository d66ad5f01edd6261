import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/** A private certificate authority and a certificate for 127.0.0.1, made anew for each test: no files, no tools. */
export interface TestAuthority {
  readonly ca: string
  readonly key: string
  readonly cert: string
}

export function testAuthority(name: string): TestAuthority {
  const authority = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const host = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const isAuthority = extension('551d13', true, sequence(der(0x01, Buffer.of(0xff))))
  // IP address 127.0.0.1 in the subject's alternative names.
  const forLoopback = extension('551d11', false, sequence(der(0x87, Buffer.of(127, 0, 0, 1))))
  return {
    ca: certificate({
      subject: name,
      publicKey: authority.publicKey,
      issuer: name,
      signer: authority.privateKey,
      extra: isAuthority,
    }),
    key: host.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: certificate({
      subject: 'loopback',
      publicKey: host.publicKey,
      issuer: name,
      signer: authority.privateKey,
      extra: forLoopback,
    }),
  }
}

const ECDSA_WITH_SHA256 = sequence(objectId('2a8648ce3d040302'))
const DAY_MS = 86_400_000

function certificate(options: {
  readonly subject: string
  readonly publicKey: KeyObject
  readonly issuer: string
  readonly signer: KeyObject
  readonly extra: Buffer
}): string {
  const content = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    name(options.issuer),
    sequence(time(Date.now() - DAY_MS), time(Date.now() + DAY_MS)),
    name(options.subject),
    options.publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(options.extra)),
  )
  const signature = sign('sha256', content, options.signer)
  const whole = sequence(content, ECDSA_WITH_SHA256, der(0x03, Buffer.concat([Buffer.of(0), signature])))
  return `-----BEGIN CERTIFICATE-----\n${whole.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`
}

function name(commonName: string): Buffer {
  return sequence(der(0x31, sequence(objectId('550403'), der(0x0c, Buffer.from(commonName)))))
}

function extension(id: string, isCritical: boolean, value: Buffer): Buffer {
  const critical = isCritical ? [der(0x01, Buffer.of(0xff))] : []
  return sequence(objectId(id), ...critical, der(0x04, value))
}

function time(atMs: number): Buffer {
  const digits = new Date(atMs).toISOString().replace(/\D/g, '').slice(0, 14)
  return der(0x18, Buffer.from(`${digits}Z`))
}

function objectId(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'))
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts))
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.of(tag, ...size), content])
}
