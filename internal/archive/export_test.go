package archive

// Forget lets a writer take the same path again.
func Forget(w *Writer) { clear(w.names) }
