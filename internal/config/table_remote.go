package config

// remoteDefs are the broker properties of remote storage.
func remoteDefs() []Def {
	return []Def{
		{Name: "remote.fetch.max.wait.ms", Kind: Int, Default: "500", Check: atLeast(1), Importance: Medium, Dynamic: ClusterWide, Status: Accepted, Reason: acceptRemote, Doc: "How long a Fetch waits for remote storage, in ms."},
		{Name: "remote.list.offsets.request.timeout.ms", Kind: Long, Default: "30000", Check: atLeast(1), Importance: Medium, Dynamic: ClusterWide, Status: Accepted, Reason: acceptRemote, Doc: "How long ListOffsets waits for remote storage, in ms."},
		{Name: "remote.log.index.file.cache.total.size.bytes", Kind: Long, Default: "1073741824", Check: atLeast(1), Importance: Low, Dynamic: ClusterWide, Status: Accepted, Reason: acceptRemote, Doc: "Disk space for cached remote indexes, in bytes."},
		{Name: "remote.log.index.file.cache.ttl.ms", Kind: Long, Default: "900000", Check: atLeast(-1), Importance: Low, Internal: true, Status: Accepted, Reason: acceptRemote, Doc: "How long a remote index stays cached, in ms."},
		{Name: "remote.log.manager.copier.thread.pool.size", Kind: Int, Default: "10", Check: atLeast(1), Importance: Medium, Dynamic: ClusterWide, Status: Accepted, Reason: acceptRemote, Doc: "Threads that copy to remote storage."},
		{Name: "remote.log.manager.copy.max.bytes.per.second", Kind: Long, Default: "9223372036854775807", Check: atLeast(1), Importance: Medium, Dynamic: ClusterWide, Status: Accepted, Reason: acceptRemote, Doc: "Most bytes per second copied to remote storage."},
		{Name: "remote.log.manager.copy.quota.window.num", Kind: Int, Default: "11", Check: atLeast(1), Importance: Medium, Status: Accepted, Reason: acceptRemote, Doc: "Samples kept for the quota of copies to remote storage."},
		{Name: "remote.log.manager.copy.quota.window.size.seconds", Kind: Int, Default: "1", Check: atLeast(1), Importance: Medium, Status: Accepted, Reason: acceptRemote, Doc: "Length of a sample for the quota of copies to remote storage, in s."},
		{Name: "remote.log.manager.expiration.thread.pool.size", Kind: Int, Default: "10", Check: atLeast(1), Importance: Medium, Dynamic: ClusterWide, Status: Accepted, Reason: acceptRemote, Doc: "Threads that delete old remote segments."},
		{Name: "remote.log.manager.fetch.max.bytes.per.second", Kind: Long, Default: "9223372036854775807", Check: atLeast(1), Importance: Medium, Dynamic: ClusterWide, Status: Accepted, Reason: acceptRemote, Doc: "Most bytes per second read from remote storage."},
		{Name: "remote.log.manager.fetch.quota.window.num", Kind: Int, Default: "11", Check: atLeast(1), Importance: Medium, Status: Accepted, Reason: acceptRemote, Doc: "Samples kept for the quota of remote reads."},
		{Name: "remote.log.manager.fetch.quota.window.size.seconds", Kind: Int, Default: "1", Check: atLeast(1), Importance: Medium, Status: Accepted, Reason: acceptRemote, Doc: "Length of a sample for the quota of remote reads, in s."},
		{Name: "remote.log.manager.follower.thread.pool.size", Kind: Int, Default: "2", Check: atLeast(1), Importance: Medium, Dynamic: ClusterWide, Status: Accepted, Reason: acceptRemote, Doc: "Threads of followers for remote storage."},
		{Name: "remote.log.manager.task.interval.ms", Kind: Long, Default: "30000", Check: atLeast(1), Importance: Low, Status: Accepted, Reason: acceptRemote, Doc: "How often remote storage tasks run, in ms."},
		{Name: "remote.log.manager.task.retry.backoff.max.ms", Kind: Long, Default: "30000", Check: atLeast(1), Importance: Low, Internal: true, Status: Accepted, Reason: acceptRemote, Doc: "Longest pause before a remote storage task is repeated, in ms."},
		{Name: "remote.log.manager.task.retry.backoff.ms", Kind: Long, Default: "500", Check: atLeast(1), Importance: Low, Internal: true, Status: Accepted, Reason: acceptRemote, Doc: "First pause before a remote storage task is repeated, in ms."},
		{Name: "remote.log.manager.task.retry.jitter", Kind: Double, Default: "0.2", Check: between(0, 0.5), Importance: Low, Internal: true, Status: Accepted, Reason: acceptRemote, Doc: "Random part of that pause."},
		{Name: "remote.log.manager.thread.pool.size", Kind: Int, Default: "2", Check: atLeast(1), Importance: Medium, Status: Accepted, Reason: acceptRemote, Doc: "Threads of remote storage tasks."},
		{Name: "remote.log.metadata.custom.metadata.max.bytes", Kind: Int, Default: "128", Check: atLeast(0), Importance: Low, Status: Accepted, Reason: acceptRemote, Doc: "Largest custom metadata of a remote segment, in bytes."},
		{Name: "remote.log.metadata.manager.class.name", Kind: String, Default: "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager", Importance: Medium, Status: Accepted, Reason: acceptRemote, Doc: "Java class that keeps the metadata of remote storage."},
		{Name: "remote.log.metadata.manager.class.path", Kind: String, Null: true, Importance: Medium, Status: Accepted, Reason: acceptRemote, Doc: "Java class path of that class."},
		{Name: "remote.log.metadata.manager.impl.prefix", Kind: String, Default: "rlmm.config.", Importance: Medium, Status: Accepted, Reason: acceptRemote, Doc: "Prefix of properties for that class."},
		{Name: "remote.log.metadata.manager.listener.name", Kind: String, Null: true, Importance: Medium, Status: Accepted, Reason: acceptRemote, Doc: "Listener that that class connects to."},
		{Name: "remote.log.reader.max.pending.tasks", Kind: Int, Default: "100", Check: atLeast(1), Importance: Medium, Status: Accepted, Reason: acceptRemote, Doc: "Remote reads that may wait."},
		{Name: "remote.log.reader.threads", Kind: Int, Default: "10", Check: atLeast(1), Importance: Medium, Dynamic: ClusterWide, Status: Accepted, Reason: acceptRemote, Doc: "Threads that read from remote storage."},
		{Name: "remote.log.storage.manager.class.name", Kind: String, Null: true, Importance: Medium, Status: Accepted, Reason: acceptRemote, Doc: "Java class of the remote storage."},
		{Name: "remote.log.storage.manager.class.path", Kind: String, Null: true, Importance: Medium, Status: Accepted, Reason: acceptRemote, Doc: "Java class path of that class."},
		{Name: "remote.log.storage.manager.impl.prefix", Kind: String, Default: "rsm.config.", Importance: Medium, Status: Accepted, Reason: acceptRemote, Doc: "Prefix of properties for that class."},
		{Name: "remote.log.storage.system.enable", Kind: Bool, Default: "false", Importance: Medium, Status: Refused, Reason: refuseRemote, Doc: "Use remote storage."},
	}
}
