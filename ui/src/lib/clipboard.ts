import { say } from './notice';

/** Puts text on the clipboard and says so. Without clipboard rights the old way is tried. */
export async function copyText(text: string, notice: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    area.style.position = 'fixed';
    area.style.opacity = '0';
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  say(notice);
}
