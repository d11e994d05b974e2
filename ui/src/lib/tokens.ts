const sizes = new Map<string, number>();

/** A size from tokens.css in CSS pixels, for what must be computed. */
export function tokenPixels(name: string): number {
  let size = sizes.get(name);
  if (size === undefined) {
    size = Number.parseFloat(getComputedStyle(document.documentElement).getPropertyValue(name));
    if (!Number.isFinite(size)) throw new Error(`tokens.css has no size ${name}`);
    sizes.set(name, size);
  }
  return size;
}
