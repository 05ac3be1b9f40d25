package storage

// Remeasure forgets when scopes were measured.
func Remeasure(s *Quotas) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.seen)
}
