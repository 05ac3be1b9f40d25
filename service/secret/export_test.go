package secret

// Tuple is the encoding that everything is bound to.
func Tuple(parts ...string) []byte { return tuple(parts...) }

// ManyWraps is when a key should be rotated.
const ManyWraps = manyWraps

// Private refuses a key file as ReadRing does, for another user.
var Private = private

// Place is what a value is bound to.
type Place struct {
	Owner   Owner
	Name    string
	ID      string
	Version int64
}

func (p Place) address() binding { return binding{p.Owner, p.Name, p.ID, p.Version} }

// Reopen seals a value in one place and opens it in another, without the row that vouches for it.
func Reopen(keys KeyProvider, sealed, opened Place, change func(kid string, wrapped []byte) (string, []byte)) ([]byte, error) {
	e, err := seal(keys, sealed.address(), []byte("value"))
	if err != nil {
		return nil, err
	}
	e.version = opened.Version
	e.kid, e.wrapped = change(e.kid, e.wrapped)
	return e.open(keys, opened.address())
}

// Bound are the bytes that the value and its key are bound to.
func Bound(p Place, kid string) (value, key []byte) {
	return p.address().aad(), dekAAD(p.ID, p.Version, kid)
}
