// What the pages say when things are not as they should be, and how they bear what is large. The explorer is real;
// single answers of its API are replaced here, because no cluster can be brought into all these states at will.
//   KLAMM_URL=http://localhost:8080 KLAMM_SHOTS=DIR node test/browser/states.mjs
import { baseURL, checkAccessibility, clusterId, equal, launch, openPage, see, shoot, Steps } from './browser.mjs';

const steps = new Steps();
const browser = await launch();
try {
  await run();
} catch (error) {
  if (steps.failed === 0) throw error;
} finally {
  await browser.close();
  steps.close('browser states');
}

function problem(code, rest = {}) {
  return { code, title: `server words for ${code}`, retriable: false, ...rest };
}

async function answer(page, path, body, status = 200) {
  await page.route(`**/api/v1/clusters/${path}`, (route) =>
    route.fulfill({ status, contentType: 'application/json', body: JSON.stringify(body) }),
  );
}

function events(list) {
  return list.map(([event, data]) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`).join('');
}

async function run() {
  const id = await clusterId();
  const home = `${baseURL}/clusters/${id}`;
  const fresh = async (work, look) => {
    const opened = await openPage(browser, look);
    await work(opened.page, opened);
    equal(opened.faults.join('\n'), '', 'faults in the page');
    await opened.close();
  };

  await steps.step('forbidden names operation and resource', () =>
    fresh(async (page) => {
      await answer(page, `${id}/topics?*`, problem('TOPIC_AUTHORIZATION_FAILED', { operation: 'Describe', resource: 'topic orders' }), 403);
      await answer(page, `${id}/topics`, problem('TOPIC_AUTHORIZATION_FAILED', { operation: 'Describe', resource: 'topic orders' }), 403);
      await page.goto(`${home}/topics`);
      await see(page, 'Not authorised on this topic');
      await see(page, 'Describe · topic orders');
      await checkAccessibility(page);
      await page.getByRole('button', { name: 'Copy details' }).click();
      const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
      equal(copied.code, 'TOPIC_AUTHORIZATION_FAILED', 'copied code');
    }),
  );

  await steps.step('an error is retried and its cause shown; a code nobody translated keeps its words', () =>
    fresh(async (page) => {
      await answer(page, `${id}/groups`, problem('SOME_NEW_CODE', { detail: 'dial tcp 10.0.0.5:9092: i/o timeout', retriable: true, help: 'Look at the network.' }), 502);
      await page.goto(`${home}/groups`);
      await see(page, 'server words for SOME_NEW_CODE');
      await see(page, 'dial tcp 10.0.0.5:9092');
      await see(page, 'Look at the network.');
      await page.unrouteAll();
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByRole('grid').or(page.getByText('No groups')).first().waitFor();
    }),
  );

  await steps.step('an API that the cluster does not offer is named', () =>
    fresh(async (page) => {
      await answer(page, `${id}/groups`, problem('UNSUPPORTED_VERSION', { operation: 'ListGroups' }), 502);
      await page.goto(`${home}/groups`);
      await see(page, 'The cluster does not offer this API');
      await see(page, 'ListGroups');
    }),
  );

  await steps.step('partial: what is there is shown, what is missing is named', () =>
    fresh(async (page) => {
      const rows = [{ id: 1, host: 'b1', port: 9092, controller: true, leaders: 4, replicas: 4, logDirs: [] }];
      await answer(page, `${id}/brokers`, {
        controller: 1,
        controllerSource: 'DescribeQuorum',
        brokers: rows,
        fetchedAt: '1796049007112',
        problems: [
          problem('CONNECTION_REFUSED', { operation: 'DescribeLogDirs', resource: 'broker 2 (b2:9092)' }),
          problem('TIMEOUT', { operation: 'DescribeLogDirs', resource: 'broker 3 (b3:9092)' }),
        ],
      });
      await page.goto(`${home}/brokers`);
      await see(page, 'DescribeLogDirs · broker 2 (b2:9092)');
      await page.getByRole('button', { name: '1 more' }).click();
      await see(page, 'broker 3 (b3:9092)');
      await page.getByRole('row').filter({ hasText: 'b1:9092' }).waitFor();
      await checkAccessibility(page);
      await shoot(page, 'state-partial');
    }),
  );

  await steps.step('the explorer itself gone: words, no blank page', () =>
    fresh(async (page) => {
      await page.goto(`${home}/brokers`);
      await page.getByRole('grid').waitFor();
      await page.route('**/api/v1/**', (route) => route.abort('connectionrefused'));
      await page.getByRole('link', { name: /^Groups/ }).click();
      await see(page, 'Klamm itself does not answer');
      await shoot(page, 'state-unreachable');
    }),
  );

  await steps.step('loading shows a skeleton after a while, and never for ever', () =>
    fresh(async (page) => {
      let release;
      const held = new Promise((resolve) => {
        release = resolve;
      });
      await page.route(`**/api/v1/clusters/${id}/groups`, async (route) => {
        await held;
        await route.continue();
      });
      await page.goto(`${home}/groups`);
      await page.locator('output[aria-label="Loading"] > *').first().waitFor();
      release();
      await page.getByRole('grid').or(page.getByText('No groups')).first().waitFor();
    }),
  );

  await steps.step('unknown pages, clusters and topics are said to be unknown', () =>
    fresh(async (page) => {
      await page.goto(`${baseURL}/no/such/page`);
      await see(page, 'There is no such page');
      await page.goto(`${baseURL}/clusters/no-such-cluster/topics`);
      await see(page, 'There is no cluster with this id');
      await page.goto(`${home}/topics/no.such.topic.here/messages`);
      await see(page, 'There is no such topic or partition');
      await page.goto(`${home}/topics/no.such.topic.here/partitions`);
      await see(page, 'There is no such topic or partition');
    }),
  );

  await steps.step('an empty cluster shows its address and first commands', () =>
    fresh(async (page) => {
      await answer(page, `${id}/topics`, { topics: [], problems: [], fetchedAt: '1796049007112' });
      await page.goto(`${home}/topics`);
      await see(page, 'No topics yet');
      const { clusters } = await (await fetch(`${baseURL}/api/v1/clusters`)).json();
      const address = clusters.find((cluster) => cluster.id === id).settings.bootstrap.join(',');
      for (const tool of ['klamm', 'kcat', 'Java tools', 'Python']) {
        await page.getByRole('radiogroup').getByText(tool, { exact: true }).click();
        await page.locator('pre').filter({ hasText: address.split(',')[0] }).first().waitFor();
      }
      await page.getByRole('button', { name: 'Create topic' }).last().waitFor();
      await checkAccessibility(page);
      await shoot(page, 'state-empty');
    }),
  );

  await steps.step('10,000 topics: few rows are drawn, filter and sort stay quick', () =>
    fresh(async (page) => {
      const topics = Array.from({ length: 10_000 }, (_, index) => ({
        name: `topic-${String(index).padStart(5, '0')}`,
        internal: false,
        partitions: (index % 64) + 1,
        replication: 3,
        offline: 0,
        underReplicated: 0,
        records: `${BigInt(index) * 9007199254740993n}`,
        recordsExact: false,
        bytes: `${index}`,
      }));
      await answer(page, `${id}/topics`, { topics, problems: [], fetchedAt: '1796049007112' });
      await page.goto(`${home}/topics`);
      const rows = page.getByRole('row');
      await rows.filter({ hasText: 'topic-00000' }).waitFor();
      const drawn = await rows.count();
      if (drawn > 80) throw new Error(`${drawn} rows are drawn`);
      await page.getByRole('columnheader', { name: 'Records' }).getByRole('button').click();
      await page.getByRole('columnheader', { name: 'Records' }).getByRole('button').click();
      await rows.filter({ hasText: `~${(9999n * 9007199254740993n).toLocaleString('en')}` }).waitFor();
      await rows.filter({ hasText: 'topic-09999' }).waitFor();
      equal(new URL(page.url()).searchParams.get('sort'), '-records', 'sort in the address');
      await page.keyboard.press('/');
      await page.keyboard.type('topic 0777');
      await see(page, '11 of 10,000 topics');
      await page.waitForURL('**q=topic+0777**');
      await page.keyboard.press('Escape');
      await page.keyboard.press('j');
      await page.keyboard.press('j');
      const active = await page.locator('[role=row][aria-selected=true]').innerText();
      if (!active.includes('topic-07778')) throw new Error(`the second row is ${active}`);
      await page.keyboard.press('End');
      equal(await page.locator('[role=row][aria-selected=true] a').innerText(), 'topic-00777', 'the last row');
    }),
  );

  await steps.step('null, empty, text, integer and bytes look different', () =>
    fresh(async (page) => {
      const preview = (kind, text) => ({ kind, text, truncated: false, bytes: '4', format: kind, reason: 'test' });
      const kinds = [
        ['null', ''],
        ['empty', ''],
        ['text', 'null'],
        ['text', '<SCRIPT>alert(1)</SCRIPT>'],
        ['integer', '-7210194211959421178'],
        ['binary', '00ff10'],
        ['json', '{"n":23958446825181076828}'],
      ];
      const records = kinds.map(([kind, text], offset) => ({
        partition: 0,
        offset: `${offset}`,
        timestamp: offset === 0 ? '-1' : '1796049007112',
        timestampType: 'CreateTime',
        key: preview('null', ''),
        value: preview(kind, text),
        headers: 0,
        bytes: '4',
        leaderEpoch: 0,
        transactional: false,
        compression: 'none',
      }));
      const progress = { scanned: '7', bytes: '1', found: '7', total: '7', markers: '2', aborted: '14', gaps: '0', dropped: '0', undecodable: '0', partitions: 1, partitionsDone: 1, millis: '1' };
      await page.route(`**/api/v1/clusters/${id}/topics/shapes/messages?*`, (route) =>
        route.fulfill({
          contentType: 'text/event-stream',
          body: events([
            ['messages', { records }],
            ['done', { reason: 'limit', text: '', cursor: 'next', progress }],
          ]),
        }),
      );
      await page.goto(`${home}/topics/shapes/messages?from=oldest`);
      const value = (row) => page.getByRole('row').nth(row + 1).getByRole('gridcell').nth(4).innerText();
      await page.getByRole('row').nth(7).waitFor();
      equal((await value(0)).replace(/\s+/g, ' '), 'null tombstone', 'null');
      equal((await value(1)).replace(/\s+/g, ' '), 'empty 0 B', 'empty');
      equal(await value(2), 'null', 'text');
      equal(await value(3), '<SCRIPT>alert(1)</SCRIPT>', 'markup');
      equal((await value(4)).replace(/\s+/g, ' '), '-7210194211959421178 integer', 'integer');
      equal(await value(5), '00 ff 10', 'bytes');
      equal(await value(6), '{"n":23958446825181076828}', 'json');
      await see(page, 'no time');
      await see(page, '14 aborted records skipped', 'footer');
      await see(page, '2 markers skipped', 'footer');
      await page.getByRole('button', { name: 'continue' }).waitFor();
    }),
  );

  await steps.step('a live burst is bounded and says what it dropped', () =>
    fresh(async (page) => {
      const count = 12_000;
      const preview = (text) => ({ kind: 'text', text, truncated: false, bytes: '9', format: 'text', reason: '' });
      const records = (from, to) =>
        Array.from({ length: to - from }, (_, index) => ({
          partition: 0,
          offset: `${from + index}`,
          timestamp: '1796049007112',
          timestampType: 'CreateTime',
          key: preview('k'),
          value: preview(`value ${from + index}`),
          headers: 0,
          bytes: '9',
          leaderEpoch: 0,
          transactional: false,
          compression: 'none',
        }));
      const batches = [];
      for (let at = 0; at < count; at += 500) batches.push(['messages', { records: records(at, at + 500) }]);
      await page.route(`**/api/v1/clusters/${id}/topics/burst/messages?*`, (route) =>
        route.fulfill({ contentType: 'text/event-stream', body: events(batches) }),
      );
      await page.goto(`${home}/topics/burst/messages?from=live`);
      await see(page, '12,000 messages');
      await see(page, '7,000 no longer in view');
      await page.getByRole('row').filter({ hasText: 'value 11999' }).waitFor();
      const drawn = await page.getByRole('row').count();
      if (drawn > 80) throw new Error(`${drawn} rows are drawn`);
    }),
  );

  await steps.step('the theme is there before any script of the page runs', async () => {
    for (const [theme, system] of [
      ['dark', 'light'],
      ['light', 'dark'],
    ]) {
      const opened = await openPage(browser, { theme: system, prefs: { theme } });
      await opened.page.route('**/assets/*.js', (route) => route.abort());
      await opened.page.goto(baseURL);
      const look = await opened.page.evaluate(() => [
        document.documentElement.getAttribute('data-mantine-color-scheme'),
        getComputedStyle(document.body).backgroundColor,
      ]);
      equal(look[0], theme, 'scheme');
      const [, red] = /rgb\((\d+)/.exec(look[1]) ?? [];
      equal(Number(red) < 128, theme === 'dark', `background ${look[1]} for ${theme}`);
      await opened.close();
    }
  });

  await steps.step('language, theme and zone are chosen at the top and kept', () =>
    fresh(async (page) => {
      await page.goto(`${home}/brokers`);
      await page.getByRole('button', { name: /^Language/ }).click();
      await page.getByRole('menuitem', { name: 'Русский' }).click();
      await see(page, 'Брокеры', 'nav');
      await page.getByRole('button', { name: 'Тема' }).click();
      await page.getByRole('menuitem', { name: 'Тёмная' }).click();
      await page.getByRole('button', { name: /Часовой пояс/ }).click();
      await page.getByRole('menuitem', { name: 'UTC' }).click();
      await page.reload();
      await see(page, 'Брокеры', 'nav');
      equal(await page.evaluate(() => document.documentElement.lang), 'ru', 'language of the page');
      equal(await page.evaluate(() => document.documentElement.getAttribute('data-mantine-color-scheme')), 'dark', 'scheme');
      await page.getByRole('button', { name: 'Часовой пояс: UTC' }).waitFor();
    }),
  );

  await steps.step('the palette goes anywhere, the list of keys opens', () =>
    fresh(async (page) => {
      await page.goto(`${home}/topics`);
      await page.getByRole('button', { name: /Go to topic/ }).waitFor();
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox').fill('brok');
      await checkAccessibility(page);
      await page.keyboard.press('Enter');
      await page.waitForURL('**/brokers');
      await page.keyboard.press('?');
      await see(page, 'pause or resume live messages', '[role=dialog]');
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }),
  );

  await steps.step('clusters: test an address, save, edit to read-only, forget', () =>
    fresh(async (page) => {
      const name = `browser test ${Date.now().toString(36)}`;
      await page.goto(`${baseURL}/new-cluster`);
      await page.getByLabel('Addresses').fill('127.0.0.1:1');
      await page.getByRole('textbox', { name: 'Name' }).fill(name);
      await page.getByRole('button', { name: 'Test', exact: true }).click();
      await see(page, '127.0.0.1:1', 'section');
      await page.getByRole('img', { name: 'failed' }).first().waitFor();
      await checkAccessibility(page);
      await shoot(page, 'ladder-failing');
      await page.getByRole('button', { name: 'Save anyway' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Save anyway' }).click();
      await page.waitForURL('**/topics');
      await page.getByRole('alert').waitFor();
      await page.goto(`${baseURL}/clusters`);
      const row = page.getByRole('row').filter({ hasText: name });
      await row.getByRole('button', { name: 'Edit' }).click();
      await page.getByLabel('Read-only').check();
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.waitForURL('**/topics');
      await see(page, 'read-only', 'header');
      equal(await page.getByRole('button', { name: 'Create topic' }).count(), 0, 'buttons that create on a read-only cluster');
      await page.goto(`${baseURL}/clusters`);
      await row.getByRole('button', { name: 'Forget cluster' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Forget cluster' }).click();
      await row.waitFor({ state: 'detached' });
    }),
  );
}
