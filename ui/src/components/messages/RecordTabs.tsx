import { IconCheck, IconX } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { Content, RecordDetail } from '../../api/types';
import { spaceHex } from '../../lib/bytes';
import { useFormat } from '../../lib/format';
import { useServerWords } from '../../lib/serverWords';
import { Tag } from '../values';
import css from './messages.module.css';

/** Headers in the record's own order, doubles and all. */
export function HeadersTab({ record }: { record: RecordDetail }) {
  const { t } = useTranslation();
  const { plural } = useFormat();
  if (record.headers.length === 0) return <p className={css.nothing}>{t('record.noHeaders')}</p>;
  const more = record.headerCount - record.headers.length;
  return (
    <>
      <table className={css.headers}>
        <thead>
          <tr>
            <th>{t('record.headerName')}</th>
            <th>{t('record.headerValue')}</th>
          </tr>
        </thead>
        <tbody>
          {record.headers.map((header, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: names may repeat, the order is the record's
            <tr key={index}>
              <td>{header.key}</td>
              <td title={header.value.reason}>
                <HeaderValue content={header.value} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {more > 0 && <p className={css.nothing}>{t('record.moreHeaders', plural(more))}</p>}
    </>
  );
}

function HeaderValue({ content }: { content: Content }) {
  const { t } = useTranslation();
  if (content.kind === 'null') {
    return (
      <>
        <i>null</i> <Tag>{t('value.noBytes')}</Tag>
      </>
    );
  }
  if (content.kind === 'empty') {
    return (
      <>
        <i>{t('value.empty')}</i> <Tag>{t('value.zero')}</Tag>
      </>
    );
  }
  if (content.text && content.kind !== 'binary') return content.text.data;
  const hex = spaceHex(content.hex?.data ?? '');
  return content.kind === 'integer' && content.text ? content.text.data : hex;
}

/** Where the record lies and how it came there. */
export function MetadataTab({ record }: { record: RecordDetail }) {
  const { t } = useTranslation();
  const { iso, zoneName, num, size, plural } = useFormat();
  const { batch } = record;
  const facts: [string, string][] = [
    [t('partition.id'), num(record.partition)],
    [t('message.offset'), num(record.offset)],
    [
      t('message.time'),
      record.timestamp === '-1'
        ? t('message.noTime')
        : `${iso(record.timestamp)} (${zoneName}) · ${record.timestamp}`,
    ],
    [t('message.timestampType'), record.timestampType],
    [t('message.size'), size(record.bytes)],
    [t('record.keySize'), record.key.kind === 'null' ? 'null' : t('count.bytes', plural(record.key.bytes))],
    [
      t('record.valueSize'),
      record.value.kind === 'null' ? 'null' : t('count.bytes', plural(record.value.bytes)),
    ],
    [t('record.batchOffsets'), `${num(batch.baseOffset)} – ${num(batch.lastOffset)}`],
    [t('record.batchRecords'), num(batch.records)],
    [t('record.batchSize'), size(batch.bytes)],
    [t('message.compression'), batch.compression],
    [t('message.leaderEpoch'), num(batch.leaderEpoch)],
    [
      t('record.producer'),
      batch.producerId === '-1'
        ? t('record.noProducer')
        : t('record.producerFacts', {
            id: batch.producerId,
            epoch: batch.producerEpoch,
            sequence: batch.baseSequence,
          }),
    ],
    [t('record.transactional'), batch.transactional ? t('value.yes') : t('value.no')],
    [t('record.format'), `v${batch.magic}`],
  ];
  return (
    <dl className={css.facts}>
      {facts.map(([name, value]) => (
        <Fact key={name} name={name} value={value} />
      ))}
    </dl>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}

/** Which formats were tried on key and value, and why each was taken or not. */
export function ReportTab({ record }: { record: RecordDetail }) {
  const { t } = useTranslation();
  return (
    <>
      <Tried title={t('record.value')} content={record.value} />
      <Tried title={t('record.key')} content={record.key} />
    </>
  );
}

function Tried({ title, content }: { title: string; content: Content }) {
  const { t } = useTranslation();
  const words = useServerWords();
  return (
    <section>
      <p className={css.why}>
        {title} · {content.format} · {words(content.reason)}
      </p>
      {content.report.length > 0 && (
        <ul className={css.report}>
          {content.report.map((tried) => (
            <li key={tried.format}>
              {tried.ok ? (
                <IconCheck className={`${css.icon} ${css.good}`} aria-label={t('record.fits')} />
              ) : (
                <IconX className={css.icon} aria-label={t('record.doesNotFit')} />
              )}
              <span>{tried.format}</span>
              <span className={css.reportReason}>{words(tried.reason)}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
