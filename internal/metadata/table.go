package metadata

import "maps"

const shardCount = 64

// table is a map that is cheap to copy: a copy shares its shards, and set and delete clone a shard
// the first time they touch it. An Image holds frozen tables, a draft works on copies of them.
type table[K comparable, V any] struct {
	shardOf func(K) uint8 // < shardCount
	shards  [shardCount]map[K]V
	count   int
	owned   uint64 // bit i: shard i belongs to this copy and may be changed in place
}

func (t *table[K, V]) get(k K) (V, bool) {
	v, ok := t.shards[t.shardOf(k)][k]
	return v, ok
}

// own makes the shard of k private and returns its index.
func (t *table[K, V]) own(k K) uint8 {
	i := t.shardOf(k)
	if t.owned&(1<<i) == 0 {
		if t.shards[i] == nil {
			t.shards[i] = map[K]V{}
		} else {
			t.shards[i] = maps.Clone(t.shards[i])
		}
		t.owned |= 1 << i
	}
	return i
}

func (t *table[K, V]) set(k K, v V) {
	shard := t.shards[t.own(k)]
	if _, ok := shard[k]; !ok {
		t.count++
	}
	shard[k] = v
}

func (t *table[K, V]) delete(k K) {
	if _, ok := t.get(k); !ok {
		return
	}
	delete(t.shards[t.own(k)], k)
	t.count--
}

// freeze gives up the right to change shards in place; after it the table may be shared.
func (t *table[K, V]) freeze() { t.owned = 0 }

// all calls fn for every entry, in no order.
func (t *table[K, V]) all(fn func(K, V)) {
	for _, shard := range t.shards {
		for k, v := range shard {
			fn(k, v)
		}
	}
}

// shardOfString is FNV-1a, folded.
func shardOfString(s string) uint8 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return uint8((h ^ h>>16 ^ h>>8) % shardCount)
}

func shardOfID(id [16]byte) uint8 { return (id[0] ^ id[8] ^ id[15]) % shardCount }

func shardOfResource(r Resource) uint8 { return shardOfString(r.Name) }
