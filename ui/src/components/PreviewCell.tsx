import { useTranslation } from 'react-i18next';
import type { Preview } from '../api/types';
import { showBlanks } from '../lib/blanks';
import { spaceHex } from '../lib/bytes';
import { tokenizePreview } from '../lib/json';
import { useServerWords } from '../lib/serverWords';
import css from './code.module.css';
import { Tag } from './values';

const drawnAtMost = 400; // characters: more is never in view

/** A key or value in a table cell. Null, empty and text cannot be mistaken for each other. */
export function PreviewCell({ preview, tombstone }: { preview: Preview; tombstone?: boolean }) {
  const { t } = useTranslation();
  const words = useServerWords();
  switch (preview.kind) {
    case 'null':
      return (
        <>
          <i className={css.nothing}>null</i> {tombstone && <Tag>{t('value.tombstone')}</Tag>}
        </>
      );
    case 'empty':
      return (
        <>
          <i className={css.nothing}>{t('value.empty')}</i> <Tag>{t('value.zero')}</Tag>
        </>
      );
    case 'json':
      return (
        <>
          {tokenizePreview(preview.text.slice(0, drawnAtMost)).map((token, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the tokens of one text never move
            <span key={index} data-kind={token.kind} className={css.token}>
              {token.text}
            </span>
          ))}
          {preview.truncated && '…'}
        </>
      );
    case 'integer':
      return (
        <span title={words(preview.reason)}>
          <span className={css.token} data-kind="number">
            {preview.text}
          </span>{' '}
          <Tag>{preview.format}</Tag>
        </span>
      );
    case 'binary':
      return (
        <span className={css.binary} title={words(preview.reason)}>
          {spaceHex(preview.text.slice(0, drawnAtMost))}
          {preview.truncated && ' …'}
        </span>
      );
    default:
      return (
        <>
          {showBlanks(preview.text.slice(0, drawnAtMost))}
          {preview.truncated && '…'}
        </>
      );
  }
}

/** The same as text, for copying. */
export function previewText(preview: Preview): string {
  return preview.kind === 'null' ? 'null' : preview.text;
}
