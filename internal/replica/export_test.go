package replica

// RetentionArmed tells whether a timer for retention runs.
func (m *Manager) RetentionArmed() bool {
	m.maintenance.mu.Lock()
	defer m.maintenance.mu.Unlock()
	return m.maintenance.retain != nil
}
