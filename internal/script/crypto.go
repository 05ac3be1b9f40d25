package script

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
)

// hashes are those of Web Crypto, by the names that the prelude has checked.
var hashes = map[string]func() hash.Hash{"SHA-1": sha1.New, "SHA-256": sha256.New, "SHA-384": sha512.New384, "SHA-512": sha512.New}

func (c Call) hash(i int) (func() hash.Hash, error) {
	if h, ok := hashes[c.Args.String(i)]; ok {
		return h, nil
	}
	return nil, &Thrown{Name: "NotSupportedError", DOM: true, Message: fmt.Sprintf("there is no hash %q", c.Args.String(i))}
}

// digest hashes: the hash's name and bytes.
func (c Call) digest() (any, error) {
	h, err := c.hash(0)
	if err != nil {
		return nil, err
	}
	data, err := c.Args.Bytes(1)
	if err != nil {
		return nil, err
	}
	sum := h()
	sum.Write(data)
	return toBase64(sum.Sum(nil)), nil
}

// hmac signs, or says whether a signature is right: the hash's name, key, bytes, and the signature or none.
func (c Call) hmac() (any, error) {
	h, err := c.hash(0)
	if err != nil {
		return nil, err
	}
	key, err := c.Args.Bytes(1)
	if err != nil {
		return nil, err
	}
	data, err := c.Args.Bytes(2)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(h, key)
	mac.Write(data)
	if !c.Args.Has(3) {
		return toBase64(mac.Sum(nil)), nil
	}
	signature, err := c.Args.Bytes(3)
	return hmac.Equal(signature, mac.Sum(nil)), err
}

// sealing is AES-GCM with a key, a nonce and the bytes that are not secret: the first three arguments; the fourth is what is sealed or
// unsealed, the fifth the tag's length in bytes.
func (c Call) sealing() (gcm cipher.AEAD, nonce, plain, data []byte, err error) {
	var all [4][]byte
	for i := range all {
		if all[i], err = c.Args.Bytes(i); err != nil {
			return nil, nil, nil, nil, err
		}
	}
	block, err := aes.NewCipher(all[0])
	if err != nil {
		return nil, nil, nil, nil, err
	}
	switch size := int(c.Args.Int(4)); {
	case size == 16 && len(all[1]) > 0:
		gcm, err = cipher.NewGCMWithNonceSize(block, len(all[1]))
	case len(all[1]) == 12:
		gcm, err = cipher.NewGCMWithTagSize(block, size)
	default:
		err = &Thrown{Name: "NotSupportedError", DOM: true, Type: "unsupported", Message: "AES-GCM takes an iv of 12 bytes where the tag is shorter than 128 bits."}
	}
	return gcm, all[1], all[2], all[3], err
}

func (c Call) seal() (any, error) {
	gcm, nonce, plain, data, err := c.sealing()
	if err != nil {
		return nil, err
	}
	return toBase64(gcm.Seal(nil, nonce, data, plain)), nil
}

// unseal answers nil when the bytes were not sealed so.
func (c Call) unseal() (any, error) {
	gcm, nonce, plain, data, err := c.sealing()
	if err != nil {
		return nil, err
	}
	out, err := gcm.Open(nil, nonce, data, plain)
	if err != nil {
		return nil, nil
	}
	return toBase64(out), nil
}

// random is so many bytes of chance, 64 KiB at most.
func (c Call) random() (any, error) {
	b := make([]byte, min(max(c.Args.Int(0), 0), 64<<10))
	rand.Read(b)
	return toBase64(b), nil
}
