// The first minutes with the explorer, in a real browser against a real cluster: create a topic, send JSON with a
// header, see it arrive in the live view, open it, look at its bytes, find the lag of the group that reads it.
//   KLAMM_URL=http://localhost:8080 KLAMM_BOOTSTRAP=localhost:9092 KLAMM_SHOTS=DIR node test/browser/flow.mjs
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { baseURL, bootstrap, checkAccessibility, clusterId, equal, launch, openPage, see, shoot, Steps } from './browser.mjs';

const kcat = (args) => promisify(execFile)(process.env.KCAT ?? 'kcat', args, { timeout: 60_000 });

/** Sends past the page, as another client would. */
async function post(cluster, record) {
  const response = await fetch(`${baseURL}/api/v1/clusters/${cluster}/topics/${topic}/records`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(record),
  });
  if (!response.ok) throw new Error(`sending answers ${response.status}: ${await response.text()}`);
}

const orders = 60;

/** A record as shops send them; some are tombstones, some are bytes. */
function order(i) {
  const number = `ord_9183726451${String(i).padStart(2, '0')}`;
  const items = '[{"sku":"A-9-113","qty":2,"price":99.00},{"sku":"B-2-007","qty":1,"price":199.50}]';
  const json = `{"orderId":"${number}","customer":${73314510714175400n + BigInt(i)},"status":"${['paid', 'refunded', 'shipped'][i % 3]}","total":${(412.5 + i).toFixed(2)},"currency":"EUR","createdAt":"2026-11-28T14:30:07.112Z","items":${items},"refund":{"reason":"damaged","approvedBy":null},"note":"Привет <b>мир</b>"}`;
  const bytes = { kind: 'hex', data: '000000012c0a126fff00fe' };
  return {
    key: { kind: 'text', data: number },
    value: i % 17 === 11 ? { kind: 'null' } : i % 23 === 13 ? bytes : { kind: 'json', data: json },
    headers: [
      { key: 'region', value: { kind: 'text', data: 'eu-west' } },
      { key: 'trace', value: { kind: 'hex', data: '00ff1234' } },
    ],
  };
}

const topic = `browser.flow.${Date.now().toString(36)}`;
const group = `browser/flow:${Date.now().toString(36)}`;
const value = '{"id":23958446825181076828,"total":1.10,"note":"Привет"}';
const bytes = Buffer.from(value);

// Every page is looked at in each of these; colours and names are the same for axe in the rest.
const looks = [
  { name: 'light-1280', theme: 'light', language: 'en', width: 1280, height: 800, axe: true },
  { name: 'dark-1280', theme: 'dark', language: 'en', width: 1280, height: 800, axe: true },
  { name: 'ru-1280', theme: 'light', language: 'ru', width: 1280, height: 800 },
  { name: 'ru-dark-1280', theme: 'dark', language: 'ru', width: 1280, height: 800 },
  { name: 'light-1920', theme: 'light', language: 'en', width: 1920, height: 1080 },
  { name: 'dark-1920', theme: 'dark', language: 'en', width: 1920, height: 1080 },
  { name: 'light-900', theme: 'light', language: 'en', width: 900, height: 700 },
];

const steps = new Steps();
const browser = await launch();
try {
  await run();
} catch (error) {
  if (steps.failed === 0) throw error;
} finally {
  await browser.close();
  steps.close('browser flow');
}

async function run() {
  const id = await clusterId();
  const { page, faults } = await openPage(browser);

  await steps.step('open: home leads to the topics of the cluster', async () => {
    await page.goto(baseURL);
    await page.waitForURL((url) => url.pathname.startsWith('/clusters'));
    await page.getByRole('grid').or(page.getByText('No topics yet')).first().waitFor();
    await page.goto(`${baseURL}/clusters/${id}/topics`);
    await page.getByRole('button', { name: 'Create topic' }).first().waitFor();
    await see(page, 'broker', 'nav');
    await checkAccessibility(page);
  });

  await steps.step('create a topic with a setting', async () => {
    await page.getByRole('button', { name: 'Create topic' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('not allowed!');
    await see(page, 'Only letters', '[role=dialog]');
    await dialog.getByLabel('Name').fill(topic);
    await dialog.getByLabel('Partitions').fill('1');
    await dialog.getByRole('button', { name: 'Add a setting' }).click();
    await dialog.getByLabel('Setting').fill('retention.ms');
    await page.keyboard.press('Escape'); // closes the completion, not the dialog
    if (!(await dialog.isVisible())) throw new Error('Escape in the completion closed the dialog');
    await dialog.getByLabel('Value').fill('3600000');
    await checkAccessibility(page);
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await page.waitForURL(`**/topics/${topic}/messages`);
    await see(page, 'retention 1 h');
  });

  await steps.step('follow it live', async () => {
    await page.getByRole('combobox', { name: 'Where to begin' }).click();
    await page.getByRole('option', { name: 'Live' }).click();
    await see(page, 'Waiting for messages');
    equal(new URL(page.url()).searchParams.get('from'), 'live', 'range in the address');
  });

  await steps.step('send JSON with a header', async () => {
    await page.getByRole('button', { name: 'Send' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('radiogroup', { name: 'Key: kind' }).getByText('Text', { exact: true }).click();
    await dialog.getByLabel('Key', { exact: true }).fill('order-1');
    await see(page, 'Partition 0, as Java', '[role=dialog]');
    await dialog.getByLabel('Value', { exact: true }).fill(value.slice(0, -1));
    await see(page, 'This is not JSON yet', '[role=dialog]');
    await dialog.getByLabel('Value', { exact: true }).fill(value);
    await dialog.getByRole('button', { name: 'Add a header' }).click();
    await dialog.getByPlaceholder('Header', { exact: true }).fill('region');
    await dialog.getByPlaceholder('Header value').fill('eu-west');
    await checkAccessibility(page);
    await dialog.getByRole('button', { name: 'Send', exact: true }).click();
    await see(page, 'Written to partition 0', '[role=dialog]');
    await see(page, 'at offset 0', '[role=dialog]');
    // Null and empty are sent as themselves.
    await dialog.getByRole('radiogroup', { name: 'Value: kind' }).getByText('Null', { exact: true }).click();
    await dialog.getByRole('button', { name: 'Send', exact: true }).click();
    await see(page, 'at offset 1', '[role=dialog]');
    await dialog.getByRole('radiogroup', { name: 'Value: kind' }).getByText('Text', { exact: true }).click();
    await dialog.getByLabel('Value', { exact: true }).fill('');
    await see(page, '0 bytes: empty', '[role=dialog]');
    await dialog.getByRole('button', { name: 'Send', exact: true }).click();
    await see(page, 'at offset 2', '[role=dialog]');
    await dialog.getByRole('button', { name: 'Close' }).last().click();
  });

  const rows = page.getByRole('grid', { name: 'Messages' }).getByRole('row');

  await steps.step('see it appear in the live view', async () => {
    await see(page, '3 messages');
    const sent = rows.filter({ hasText: 'order-1' }).filter({ hasText: '23958446825181076828' });
    await sent.waitFor();
    await rows.filter({ hasText: 'tombstone' }).waitFor();
    await rows.filter({ hasText: 'empty' }).waitFor();
    await shoot(page, 'live-light-1280');
  });

  await steps.step('pause without losing the place', async () => {
    await page.getByRole('button', { name: 'Pause' }).click();
    await see(page, 'paused');
    await post(id, { key: { kind: 'text', data: 'late' }, value: { kind: 'text', data: 'while paused' } });
    await page.getByRole('button', { name: '1 new: show' }).waitFor();
    equal(await rows.filter({ hasText: 'while paused' }).count(), 0, 'rows that came while paused');
    await page.keyboard.press('p');
    await rows.filter({ hasText: 'while paused' }).waitFor();
    await see(page, '4 messages');
  });

  await steps.step('from an offset, from a time, past the end', async () => {
    const other = await openPage(browser);
    const at = async (query) => other.page.goto(`${baseURL}/clusters/${id}/topics/${topic}/messages${query}`);
    await at('?from=offset:2');
    await see(other.page, 'stopped: end reached');
    equal(await other.page.getByRole('grid').getByRole('row').count(), 3, 'rows from offset 2, with the heading');
    await at('?from=offset:99');
    await see(other.page, 'at or after the end');
    await at('');
    await other.page.getByRole('combobox', { name: 'Where to begin' }).click();
    await other.page.getByRole('option', { name: 'From time' }).click();
    await other.page.getByLabel(/^Time, /).fill('-1h');
    await other.page.keyboard.press('Enter');
    await other.page.waitForURL('**from=time:**');
    await other.page.getByRole('row').filter({ hasText: 'while paused' }).waitFor();
    await other.page.getByLabel(/^Time, /).fill('2999-01-01 00:00');
    await other.page.keyboard.press('Enter');
    await see(other.page, 'No message has this time or a later one');
    equal(other.faults.join(''), '', 'faults');
    await other.close();
  });

  await steps.step('open it: every digit, the header, the exact bytes', async () => {
    await rows.filter({ hasText: '23958446825181076828' }).click();
    const panel = page.getByRole('complementary');
    await panel.getByText('"id": 23958446825181076828').waitFor();
    await panel.getByText('"total": 1.10').waitFor();
    await panel.getByText('"note": "Привет"').waitFor();
    equal(new URL(page.url()).searchParams.get('record'), '0@0', 'record in the address');
    await panel.getByRole('tab', { name: 'Headers' }).click();
    await panel.getByRole('cell', { name: 'region' }).waitFor();
    await panel.getByRole('cell', { name: 'eu-west' }).waitFor();
    await checkAccessibility(page);
    const download = page.waitForEvent('download');
    await panel.getByRole('button', { name: 'Save bytes' }).click();
    const saved = await readFile(await (await download).path());
    if (!saved.equals(bytes)) throw new Error(`saved ${saved.toString('hex')}, sent ${bytes.toString('hex')}`);
    await panel.getByRole('tab', { name: 'Value' }).click();
    await page.keyboard.press('c');
    await see(page, 'Copied', 'footer');
    equal(await page.evaluate(() => navigator.clipboard.readText()), value, 'copied value');
  });

  await steps.step('switch to hex', async () => {
    const panel = page.getByRole('complementary');
    await panel.getByRole('tab', { name: 'Hex' }).click();
    const first = [...bytes.subarray(0, 8)].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    await panel.getByText(first).waitFor();
    await panel.getByText('00000008').waitFor();
    equal(new URL(page.url()).searchParams.get('view'), 'hex', 'view in the address');
    await shoot(page, 'hex-light-1280');
  });

  await steps.step('the address shows a colleague the same', async () => {
    const other = await openPage(browser);
    await other.page.goto(page.url().replace('from=live', 'from=oldest'));
    await other.page.getByRole('complementary').getByText('7b 22 69 64 22 3a 32 33').waitFor();
    await other.page.keyboard.press('Escape');
    await other.page.getByRole('complementary').waitFor({ state: 'detached' });
    await see(other.page, 'stopped: end reached');
    await other.close();
  });

  await steps.step('rows by key: j, Enter, back and forward', async () => {
    await page.keyboard.press('Escape');
    await page.getByRole('complementary').waitFor({ state: 'detached' });
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('complementary').waitFor();
    await page.goBack();
    await page.getByRole('complementary').waitFor({ state: 'detached' });
  });

  await steps.step('a group reads one record of four', async () => {
    await kcat(['-b', bootstrap, '-X', 'auto.offset.reset=earliest', '-G', group, '-c', '1', '-q', topic]);
    await page.goto(`${baseURL}/clusters/${id}/groups`);
    const row = page.getByRole('row').filter({ hasText: group });
    await row.getByText('3', { exact: true }).waitFor(); // lag
    await checkAccessibility(page);
    await row.getByRole('link', { name: group }).click();
  });

  await steps.step("find the group's lag", async () => {
    await see(page, 'Lag: 3');
    const row = page.getByRole('grid').getByRole('row').filter({ hasText: topic });
    const cells = await row.getByRole('gridcell').allInnerTexts();
    // topic, partition, committed, start, end, lag
    equal(cells.slice(0, 6).join('|'), [topic, '0', '1', '0', '4', '3'].join('|'), 'cells of the group');
    await checkAccessibility(page);
    await shoot(page, 'group-light-1280');
    await page.reload();
    await see(page, 'Lag: 3');
  });

  await steps.step('rows in view stay in place while others arrive above them', async () => {
    const live = await openPage(browser);
    await live.page.goto(`${baseURL}/clusters/${id}/topics/${topic}/messages?from=live`);
    await see(live.page, 'Waiting for messages');
    for (let i = 0; i < orders; i++) await post(id, order(i));
    await see(live.page, `${orders} messages`);
    const grid = live.page.getByRole('grid', { name: 'Messages' });
    await grid.evaluate((element) => element.scrollTo(0, 300));
    const atTop = () =>
      grid.evaluate((element) => {
        const { left, top } = element.getBoundingClientRect();
        return document.elementFromPoint(left + 40, top + 60)?.closest('[role=row]')?.textContent;
      });
    const before = await atTop();
    for (let i = 0; i < 7; i++) await post(id, order(i));
    await see(live.page, `${orders + 7} messages`);
    equal(await atTop(), before, 'the row at the top of the view');
    await live.close();
  });

  await steps.step('every page in light and dark, English and Russian, narrow and wide', () => everyPage(id));

  await steps.step('delete the topic: what goes is shown, its name is asked for', async () => {
    await page.goto(`${baseURL}/clusters/${id}/topics/${topic}/messages`);
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Delete topic' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(group).waitFor();
    const confirm = dialog.getByRole('button', { name: 'Delete topic' });
    equal(await confirm.isDisabled(), true, 'deletion before the name is typed');
    await dialog.getByLabel(/Type .* to confirm/).fill(topic);
    await checkAccessibility(page);
    await confirm.click();
    await page.waitForURL('**/topics');
    await page.getByRole('grid').or(page.getByText('No topics yet')).first().waitFor();
    await page.getByRole('row').filter({ hasText: topic }).waitFor({ state: 'detached' });
  });

  await steps.step('nothing failed in the page on the way', async () => {
    equal(faults.join('\n'), '', 'faults');
  });
}

async function everyPage(id) {
  const home = `${baseURL}/clusters/${id}`;
  const pages = [
    ['topics', `${home}/topics?internal=1`, '[role=grid] [role=gridcell]'],
    ['create', `${home}/topics?dialog=create`, '[role=dialog] input'],
    ['messages', `${home}/topics/${topic}/messages`, '[role=grid] [role=gridcell]'],
    ['record', `${home}/topics/${topic}/messages?record=0@55`, 'aside [role=region]'],
    ['send', `${home}/topics/${topic}/messages?dialog=send`, '[role=dialog] textarea'],
    ['partitions', `${home}/topics/${topic}/partitions`, '[role=grid] [role=gridcell]'],
    ['consumers', `${home}/topics/${topic}/consumers`, '[role=grid] [role=gridcell]'],
    ['configuration', `${home}/topics/${topic}/configuration`, '[role=grid] [role=gridcell]'],
    ['groups', `${home}/groups`, '[role=grid] [role=gridcell]'],
    ['group', `${home}/groups/${encodeURIComponent(group)}`, '[role=grid] [role=gridcell]'],
    ['brokers', `${home}/brokers`, '[role=grid] [role=gridcell]'],
    ['clusters', `${baseURL}/clusters`, '[role=grid] [role=gridcell]'],
    ['new-cluster', `${baseURL}/new-cluster`, 'textarea'],
  ];
  for (const look of looks) {
    const { page, faults, close } = await openPage(browser, look);
    for (const [name, url, content] of pages) {
      await page.goto(url);
      await page.locator(content).first().waitFor();
      await page.evaluate(() => document.fonts.ready);
      if (look.axe) {
        await checkAccessibility(page).catch((error) => {
          throw new Error(`${name}, ${look.name}: ${error.message}`);
        });
      }
      await noOverflow(page, `${name}, ${look.name}`);
      await shoot(page, `${name}-${look.name}`);
    }
    equal(faults.join('\n'), '', `faults in ${look.name}`);
    await close();
  }
}

/** Nothing sticks out of the window, and no button's words are cut off. */
async function noOverflow(page, where) {
  const found = await page.evaluate(() => {
    const faults = [];
    const root = document.documentElement;
    if (root.scrollWidth > root.clientWidth) faults.push(`the page is ${root.scrollWidth} wide`);
    for (const button of document.querySelectorAll('button, [role=tab]')) {
      const label = button.querySelector('.mantine-Button-label, .mantine-Tabs-tabLabel');
      if (label && label.scrollWidth > label.clientWidth + 1) faults.push(`cut off: ${label.textContent}`);
      const box = button.getBoundingClientRect();
      if (box.width > 0 && box.right > root.clientWidth + 1) faults.push(`outside: ${button.textContent}`);
    }
    return faults;
  });
  if (found.length > 0) throw new Error(`${where}: ${found.join('; ')}`);
}
