// Turns vitest's JSON reports and exit codes, a pair for each suite, into one line "N passed, N failed".
import { readFileSync } from 'node:fs'

function read(reportPath) {
  try {
    return JSON.parse(readFileSync(reportPath, 'utf8'))
  } catch {
    // Killed or broken before it could report.
    return { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, testResults: [] }
  }
}

function countsOf(reportPath, exitCode) {
  const { numPassedTests, numFailedTests, numPendingTests, testResults } = read(reportPath)
  // A file that fails outside its tests (an import, a hook) reports no failed test of its own.
  const brokenFiles = testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  ).length
  const failed = numFailedTests + brokenFiles
  // Unhandled errors, a failed global setup and a timeout show in the exit code alone; a run without tests proves nothing.
  const isHiddenFailure = failed === 0 && (exitCode !== '0' || numPassedTests === 0)
  return { passed: numPassedTests, failed: failed + (isHiddenFailure ? 1 : 0), skipped: numPendingTests }
}

let passed = 0
let failed = 0
let skipped = 0
const pairs = process.argv.slice(2)
for (let at = 0; at < pairs.length; at += 2) {
  const counts = countsOf(pairs[at], pairs[at + 1])
  passed += counts.passed
  failed += counts.failed
  skipped += counts.skipped
}
// On stderr: the verdict is the one line on stdout.
if (skipped > 0) console.error(`ci: ${skipped} tests were skipped; each says above what it lacks`)
console.log(`${passed} passed, ${failed} failed`)
