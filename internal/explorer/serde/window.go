package serde

import "unicode/utf8"

// Window keeps the bytes from From up to From+Length of what is written to it, and counts the rest:
// a slice of a long text costs no more memory than the slice.
type Window struct {
	From, Length int64
	total        int64
	data         []byte
}

// minWindow always holds a whole character, even where it starts inside one: slices must get on.
const minWindow = 2 * utf8.UTFMax

func textWindow(from, length int64) *Window {
	return &Window{From: from, Length: max(length, minWindow)}
}

func (w *Window) write(p []byte) {
	start, end := w.total, w.total+int64(len(p))
	w.total = end
	if end <= w.From || start >= w.From+w.Length {
		return
	}
	low, high := max(0, w.From-start), min(int64(len(p)), w.From+w.Length-start)
	w.data = append(w.data, p[low:high]...)
}

func (w *Window) writeString(s string) { w.write([]byte(s)) }

func (w *Window) writeByte(c byte) {
	if at := w.total - w.From; at >= 0 && at < w.Length {
		w.data = append(w.data, c)
	}
	w.total++
}

// Slice is a window on a text or on bytes: Data lies at From of Total bytes.
type Slice struct {
	Data  []byte
	From  int64
	Total int64
}

// Next is where the following slice starts; ok is false at the end.
func (s Slice) Next() (next int64, ok bool) {
	next = s.From + int64(len(s.Data))
	return next, next < s.Total
}

// slice gives the window, its ends moved to whole characters.
func (w *Window) slice() Slice {
	s := Slice{Data: w.data, From: w.From, Total: w.total}
	if s.From > s.Total {
		s.From = s.Total
	}
	for len(s.Data) > 0 && !utf8.RuneStart(s.Data[0]) {
		s.Data = s.Data[1:]
		s.From++
	}
	if s.From+int64(len(s.Data)) < s.Total {
		s.Data = cutRune(s.Data)
	}
	return s
}

// cutRune drops an unfinished character at the end of valid UTF-8.
func cutRune(p []byte) []byte {
	for i := len(p) - 1; i >= 0 && i >= len(p)-utf8.UTFMax; i-- {
		if utf8.RuneStart(p[i]) {
			if utf8.FullRune(p[i:]) {
				return p
			}
			return p[:i]
		}
	}
	return p
}
