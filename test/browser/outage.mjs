// Klamm is killed and started again while its page is open: the page says so, and goes on where it was.
//   KLAMM_BIN=./klamm node test/browser/outage.mjs
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { equal, launch, openPage, Steps } from './browser.mjs';

const binary = process.env.KLAMM_BIN ?? 'klamm';
const data = await mkdtemp(join(tmpdir(), 'klamm-outage-'));
const topic = 'outage';
const steps = new Steps();
const browser = await launch();
let node;
try {
  await run();
} catch (error) {
  if (steps.failed === 0) throw error;
} finally {
  await browser.close();
  if (node) await node.kill();
  await rm(data, { recursive: true, force: true });
  steps.close('browser outage');
}

/** Starts Klamm and waits for its ready line. */
async function start(listen, http) {
  const child = spawn(binary, ['serve', '--data-dir', data, '--listen', listen, '--http', http], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const gone = new Promise((resolve) => child.once('exit', resolve));
  const line = await new Promise((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (piece) => {
      text += piece;
      const ready = /^ready kafka=(\S+) http=(\S+) /m.exec(text);
      if (ready) resolve(ready);
    });
    gone.then((code) => reject(new Error(`${binary} ended with ${code} before it was ready`)));
  });
  return {
    kafka: line[1],
    url: line[2],
    async kill() {
      child.kill('SIGKILL');
      await gone;
    },
  };
}

async function post(path, body) {
  const response = await fetch(`${node.url}/api/v1/clusters/local${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path} answers ${response.status}: ${await response.text()}`);
}

function send(value) {
  return post(`/topics/${topic}/records`, { key: { kind: 'null' }, value: { kind: 'text', data: value } });
}

async function run() {
  node = await start('localhost:0', 'localhost:0');
  const first = node;
  await post('/topics', { name: topic, partitions: 3, replication: 1 });
  const { page, faults } = await openPage(browser);
  const rows = page.getByRole('grid', { name: 'Messages' }).getByRole('row');
  const saw = (value) => rows.filter({ hasText: value }).waitFor({ timeout: 20_000 });

  await steps.step('live messages arrive', async () => {
    await page.goto(`${node.url}/clusters/local/topics/${topic}/messages?from=live`);
    await page.getByText('Waiting for messages').waitFor();
    for (let i = 0; i < 5; i++) await send(`before ${i}`);
    await page.getByText('5 messages').waitFor();
    await saw('before 4');
  });

  await steps.step('killed: the page says so and keeps what it has', async () => {
    await node.kill();
    await page.getByText(/Klamm itself does not answer|stream from Klamm ended early/).waitFor();
    equal(await rows.count(), 6, 'rows with the heading');
    await page.getByRole('link', { name: 'Groups' }).click();
    await page.getByRole('alert').getByText('Klamm itself does not answer').waitFor();
    await page.goBack();
  });

  await steps.step('started again: reading goes on, nothing is lost', async () => {
    node = await start(first.kafka, new URL(first.url).host);
    await page.goto(`${node.url}/clusters/local/topics/${topic}/messages?from=oldest`);
    await page.getByText('5 found').waitFor();
    await page.goto(`${node.url}/clusters/local/topics/${topic}/messages?from=live`);
    await page.getByText('Waiting for messages').waitFor();
    await send('after 0');
    await saw('after 0');
    await page.locator('[role=status][data-resumable=true]').waitFor();
  });

  await steps.step('killed again while live: continue takes up what came meanwhile, once', async () => {
    await node.kill();
    await page.getByText(/Klamm itself does not answer|stream from Klamm ended early/).waitFor();
    node = await start(first.kafka, new URL(first.url).host);
    for (let i = 1; i < 4; i++) await send(`after ${i}`);
    await page.getByRole('button', { name: 'continue' }).click();
    await saw('after 3');
    await send('after 4');
    await saw('after 4');
    await page.getByText('5 messages').waitFor();
    for (let i = 0; i < 5; i++) equal(await rows.filter({ hasText: `after ${i}` }).count(), 1, `rows of after ${i}`);
  });

  await steps.step('nothing failed in the page on the way', async () => {
    equal(faults.join('\n'), '', 'faults');
  });
}
