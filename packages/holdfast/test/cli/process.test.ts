// The real program: exit codes, signals, a pipe that is closed early, and `work`.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { version } from '../../src/version.ts'
import { until } from '../queue/driver.ts'
import { configFolder, workingConfig } from './config-folder.ts'
import { spawnCli } from './spawn-cli.ts'
import { cli } from './test-host.ts'

test('exit codes of the program: 0, 1, 2', async (t) => {
  const folder = await configFolder(t, workingConfig)
  const [fine, failed, wrong] = await Promise.all([
    spawnCli(['--version']).ended,
    spawnCli(['job', 'none'], folder).ended,
    spawnCli(['statsu'], folder).ended,
  ])
  assert.deepEqual([fine.code, fine.out], [0, `${version}\n`])
  assert.deepEqual([failed.code, /^There is no job 'none'\. .* Run holdfast jobs /.test(failed.errors)], [1, true])
  assert.deepEqual([wrong.code, /Did you mean status\?/.test(wrong.errors)], [2, true])
})

test('work: ready, healthy, stopped by SIGTERM with what runs given back; another command sees it', async (t) => {
  const folder = await configFolder(t, workingConfig)
  const { child, ended, out } = spawnCli(['work', '--health-port', '0', '--grace', '50ms'], folder)
  t.after(() => child.kill('SIGKILL'))
  await until(() => /ready {2}queue 'mail'/.test(out()) && /ready {2}queue 'slow'/.test(out()), out(), 60_000)
  const [, url] = /^health {2}(http:\S+)$/m.exec(out())!
  assert.equal((await fetch(`${url}/ready`)).status, 200)
  assert.equal((await fetch(`${url}//live?x`)).status, 200)

  const at = { cwd: folder }
  const url2 = ['--url', 'sqlite:./jobs.db']
  await cli(['enqueue', 'mail', '"ada"', '--id', 'm1', ...url2], at)
  await cli(['enqueue', 'slow', '"x"', '--id', 's1', ...url2], at)
  const shown = async (id: string) => JSON.parse((await cli(['job', id, '--json', ...url2], at)).out)
  await until(async () => (await shown('m1')).state === 'completed')
  await until(async () => (await shown('s1')).state === 'processing')
  assert.match((await cli(['workers', ...url2], at)).out, /queue\.mail[^]*queue\.slow|queue\.slow[^]*queue\.mail/)

  child.kill('SIGTERM')
  const { code, out: printed, errors } = await ended
  assert.deepEqual([code, errors], [0, ''])
  assert.match(printed, /stopping\nstopped\n$/)
  const { state, attempts } = await shown('s1')
  assert.deepEqual([state, attempts], ['queued', 0])
})

test('SIGINT ends a command that goes on, with exit code 0', async (t) => {
  const folder = await configFolder(t, workingConfig)
  const { child, ended, out } = spawnCli(['top', '--every', '20ms'], folder)
  t.after(() => child.kill('SIGKILL'))
  await until(() => out().split('\n').length > 3, 'lines of top', 60_000)
  child.kill('SIGINT')
  const { code, errors } = await ended
  assert.deepEqual([code, errors], [0, ''])
  assert.match(out(), /^\d\d:\d\d:\d\dZ {2}completed 0\.0\/s {2}waiting 0 {2}running 0 {2}failed 0 {2}workers 0$/m)
})

test('a reader that goes away ends the program quietly', async (t) => {
  const folder = await configFolder(t, workingConfig)
  const { child, ended } = spawnCli(['top', '--every', '1ms'], folder)
  t.after(() => child.kill('SIGKILL'))
  child.stdout!.once('data', () => child.stdout!.destroy())
  const { code, errors } = await ended
  assert.deepEqual([code, errors], [0, ''])
})
