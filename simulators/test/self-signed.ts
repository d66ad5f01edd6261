import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

/** A key and a certificate for 127.0.0.1 that vouches for itself, good for a day, made without any tool. */
export function selfSigned(): { key: string; cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = sequence(objectId(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02))
  const subject = sequence(tagged(0x31, sequence(objectId(0x55, 0x04, 0x03), tagged(0x0c, Buffer.from('127.0.0.1')))))
  const address = sequence(tagged(0x87, Buffer.of(127, 0, 0, 1)))
  const alternativeNames = sequence(objectId(0x55, 0x1d, 0x11), tagged(0x04, address))
  const content = sequence(
    tagged(0xa0, tagged(0x02, Buffer.of(2))),
    tagged(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)])),
    algorithm,
    subject,
    sequence(utcTime(-1), utcTime(1)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(alternativeNames)),
  )
  const signature = tagged(0x03, Buffer.concat([Buffer.of(0), sign('sha256', content, privateKey)]))
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: pem('CERTIFICATE', sequence(content, algorithm, signature)),
  }
}

function sequence(...parts: Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts))
}

function objectId(...bytes: number[]): Buffer {
  return tagged(0x06, Buffer.from(bytes))
}

function utcTime(daysFromNow: number): Buffer {
  const digits = new Date(Date.now() + daysFromNow * 86_400_000).toISOString().replace(/\D/g, '')
  return tagged(0x17, Buffer.from(`${digits.slice(2, 14)}Z`))
}

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.of(tag, ...size), content])
}

function pem(label: string, der: Buffer): string {
  return `-----BEGIN ${label}-----\n${der.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END ${label}-----\n`
}
