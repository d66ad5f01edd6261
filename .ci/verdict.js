// Turns vitest's JSON report and exit code into the line "N passed, N failed".
import { readFileSync } from 'node:fs'

const [reportPath, exitCode] = process.argv.slice(2)

function read() {
  try {
    return JSON.parse(readFileSync(reportPath, 'utf8'))
  } catch {
    // Killed or broken before it could report.
    return { numPassedTests: 0, numFailedTests: 0, testResults: [] }
  }
}

const { numPassedTests, numFailedTests, testResults } = read()
// A file that fails outside its tests (an import, a hook) reports no failed test of its own.
const brokenFiles = testResults.filter(
  ({ status, assertionResults }) => status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
).length
const failed = numFailedTests + brokenFiles
// Unhandled errors, a failed global setup and a timeout show in the exit code alone; a run without tests proves nothing.
const isHiddenFailure = failed === 0 && (exitCode !== '0' || numPassedTests === 0)

console.log(`${numPassedTests} passed, ${failed + (isHiddenFailure ? 1 : 0)} failed`)
