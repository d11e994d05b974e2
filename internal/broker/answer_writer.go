package broker

import (
	"net"
	"time"
)

// answerPiece is how many bytes of an answer a client must take within connections.max.idle.ms.
const answerPiece = 1 << 20

// answerWriter writes answers to a client and gives up one that takes nothing for limit: its answer
// would stay in memory for as long as the client likes. 0 or less waits for ever.
type answerWriter struct {
	net   net.Conn
	limit time.Duration
	from  time.Time // when the write deadline was set last
}

// Write implements io.Writer.
func (w *answerWriter) Write(b []byte) (written int, err error) {
	for written < len(b) && err == nil {
		if err = w.extendDeadline(); err == nil {
			var n int
			n, err = w.net.Write(b[written:min(len(b), written+answerPiece)])
			written += n
		}
	}
	return written, err
}

// extendDeadline moves the deadline only when an eighth of it has passed, to keep answers cheap.
func (w *answerWriter) extendDeadline() error {
	if w.limit <= 0 {
		return nil
	}
	now := time.Now()
	if now.Sub(w.from) < w.limit/8 {
		return nil
	}
	w.from = now
	return w.net.SetWriteDeadline(now.Add(w.limit))
}
