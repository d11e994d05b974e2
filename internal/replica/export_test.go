package replica

// RetentionArmed tells whether a timer for retention runs.
func (m *Manager) RetentionArmed() bool {
	m.maintenance.mu.Lock()
	defer m.maintenance.mu.Unlock()
	return m.maintenance.retain != nil
}

// LimitFetchMemory sets how many bytes of records fetches may hold; none may hold any.
func (m *Manager) LimitFetchMemory(bytes int64) { m.memory.free.Store(bytes) }
