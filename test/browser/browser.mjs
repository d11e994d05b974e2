// Chromium, the steps of a run and their count, screenshots and the accessibility check.
import { mkdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const require = createRequire(new URL('../../ui/package.json', import.meta.url));
const { chromium } = require('playwright-core');

export const baseURL = (process.env.KLAMM_URL ?? 'http://localhost:8080').replace(/\/$/, '');
export const bootstrap = process.env.KLAMM_BOOTSTRAP ?? 'localhost:9092';
export const outDir = process.env.KLAMM_SHOTS ?? fileURLToPath(new URL('../../build/browser', import.meta.url));
/** Which cluster of the explorer; the first one when left out. */
const wantedCluster = process.env.KLAMM_CLUSTER ?? '';

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: flags });
}

/** Ends the run when a step has failed: what follows needs it. */
export class Steps {
  passed = 0;
  failed = 0;

  async step(name, work) {
    const begin = Date.now();
    try {
      await work();
      this.passed++;
      console.log(`ok    ${name} (${Date.now() - begin} ms)`);
    } catch (error) {
      this.failed++;
      console.log(`FAIL  ${name}\n${String(error?.stack ?? error).replace(/^/gm, '      ')}`);
      throw error;
    }
  }

  /** Prints the closing line and sets the exit code. */
  close(name) {
    console.log(`${name}: ${this.passed} passed, ${this.failed} failed`);
    process.exitCode = this.failed === 0 && this.passed > 0 ? 0 : 1;
  }
}

/** A page whose errors count: script errors, and console errors other than the expected answers of a server. */
export async function openPage(browser, { width = 1280, height = 800, theme = 'light', language = 'en', prefs = {} } = {}) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    locale: language,
    timezoneId: 'Europe/Berlin',
    acceptDownloads: true,
  });
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: baseURL });
  await context.addInitScript((kept) => {
    for (const [key, value] of Object.entries(kept)) localStorage.setItem(`klamm.${key}`, value);
  }, prefs);
  const page = await context.newPage();
  const faults = [];
  page.on('pageerror', (error) => faults.push(error.stack ?? error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) faults.push(message.text());
  });
  return {
    page,
    faults,
    async close() {
      await context.close();
    },
  };
}

/** The id of the cluster to test, from the API. */
export async function clusterId() {
  const response = await fetch(`${baseURL}/api/v1/clusters`);
  if (!response.ok) throw new Error(`${baseURL}/api/v1/clusters answers ${response.status}: is the explorer running there?`);
  const { clusters } = await response.json();
  const chosen = wantedCluster === '' ? clusters[0] : clusters.find(({ id }) => id === wantedCluster);
  if (!chosen) throw new Error(`the explorer at ${baseURL} has no cluster ${wantedCluster}`);
  return chosen.id;
}

export async function shoot(page, name) {
  await mkdir(outDir, { recursive: true });
  await page.screenshot({ path: join(outDir, `${name}.png`) });
}

const axeSource = await readFile(require.resolve('axe-core/axe.min.js'), 'utf8');

/** Fails with every violation of WCAG 2.2 A and AA on the page as it stands. */
export async function checkAccessibility(page) {
  await page.evaluate(axeSource);
  const violations = await page.evaluate(async () => {
    const result = await globalThis.axe.run(document, {
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'],
    });
    return result.violations.flatMap(({ id, help, nodes }) =>
      nodes.slice(0, 3).map(({ target, failureSummary }) => `${id}: ${help}\n  ${target.join(' ')}\n  ${failureSummary}`),
    );
  });
  if (violations.length > 0) throw new Error(`not accessible:\n${violations.join('\n')}`);
}

/** Waits until the page shows the text, in the whole page or inside a part of it. */
export async function see(page, text, inside = 'body') {
  await page.locator(inside).getByText(text, { exact: false }).first().waitFor({ state: 'visible', timeout: 20_000 });
}

export function equal(got, want, what) {
  if (got !== want) throw new Error(`${what}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
}
