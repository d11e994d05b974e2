/**
 * A list with a ceiling for live data. It keeps the newest items and counts what it let go. Cutting happens with
 * slack, so that a burst costs one copy and not one per item.
 */
export class BoundedList<T> {
  private items: T[] = [];
  private lost = 0;

  constructor(
    readonly limit: number,
    private readonly slack = Math.ceil(limit / 4),
  ) {}

  push(more: readonly T[]): void {
    this.items.push(...more);
    if (this.items.length > this.limit + this.slack) {
      const cut = this.items.length - this.limit;
      this.items = this.items.slice(cut);
      this.lost += cut;
    }
  }

  /** The newest items, oldest first, at most `limit`. */
  view(): T[] {
    return this.items.length > this.limit ? this.items.slice(-this.limit) : this.items.slice();
  }

  /** How many items are no longer in view. */
  get dropped(): number {
    return this.lost + Math.max(0, this.items.length - this.limit);
  }
}
