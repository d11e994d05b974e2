package replica

import (
	"time"

	"klamm/internal/storage"
)

func retentionDeadline(*storage.Log) (time.Time, bool) { return time.Time{}, false }

func epochFor(log *storage.Log, _ int64) (int32, bool) { return log.LeaderEpochs().Latest() }
