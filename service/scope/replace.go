package scope

// Replace goes on with the tokens and the key of another. What is signed from now on carries them; what was signed before is
// on its way as it was.
func (f *Forward) Replace(next *Forward) { f.next.Store(next) }

// present is what requests are signed with now.
func (f *Forward) present() *Forward {
	if next := f.next.Load(); next != nil {
		return next
	}
	return f
}

// Replace goes on with the tokens and the keys of another. The assertions that were seen stay seen: nothing can be said twice
// because a token changed.
func (g *Guard) Replace(next *Guard) { g.next.Store(next) }

// present is what is believed now. A request is judged by one of them from its first check to its last.
func (g *Guard) present() *Guard {
	if next := g.next.Load(); next != nil {
		return next
	}
	return g
}
