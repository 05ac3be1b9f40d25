package storetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing/iotest"

	"svc.dev/svc"
)

// blobsLaw is what becomes of attachments' bytes.
type blobsLaw struct{}

func named(content string) svc.Blob {
	sum := sha256.Sum256([]byte(content))
	return svc.Blob{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(content))}
}

// put stores bytes and returns an attachment that names them.
func (s *scene) put(scope, id, content string) svc.Attachment {
	s.Helper()
	b, err := s.store.Put(s.Context(), scope, strings.NewReader(content))
	s.must(err)
	return svc.Attachment{ID: id, Blob: b, MimeType: "text/plain", Filename: id + " ä.txt"}
}

// attach admits a prompt that refers to attachments.
func (s *scene) attach(st svc.Stream, submission string, all ...svc.Attachment) {
	s.Helper()
	a := prompt(st, submission)
	a.Blobs = all
	s.admit(a)
}

// get proves that a stream has an attachment and that its bytes are these.
func (s *scene) get(st svc.Stream, want svc.Attachment, content string) {
	s.Helper()
	got, r, err := s.store.Get(s.Context(), st, want.ID)
	s.must(err)
	defer r.Close()
	data, err := io.ReadAll(r)
	s.must(err)
	equal(s, "attachment", got, want)
	if !bytes.Equal(data, []byte(content)) {
		s.Fatalf("%d bytes that differ from the %d put", len(data), len(content))
	}
}

func (s *scene) noAttachment(st svc.Stream, id string) {
	s.Helper()
	_, r, err := s.store.Get(s.Context(), st, id)
	if err == nil {
		r.Close()
	}
	s.refused(err, svc.ErrNotFound)
}

// cannotName proves that a stream gets nothing by naming a blob: the admission is refused, or there is nothing to get.
func (s *scene) cannotName(st svc.Stream, b svc.Blob) {
	s.Helper()
	a := prompt(st, "s1")
	a.Blobs = []svc.Attachment{{ID: "stolen", Blob: b, MimeType: "text/plain"}}
	if _, err := s.store.Admit(s.Context(), a); err == nil {
		s.noAttachment(st, "stolen")
	}
}

func (blobsLaw) PutNamesBytesByTheirSum(s *scene) {
	for _, content := range []string{"hello", "", "\x00\xff"} {
		equal(s, "blob", s.put(scope, "a1", content).Blob, named(content))
	}
}

func (blobsLaw) AttachmentGivesItsBytesBack(s *scene) {
	a1, a2 := s.put(scope, "a1", "hello"), s.put(scope, "a2", "")
	a2.Filename = ""
	s.attach(talk, "s1", a1, a2)
	s.get(talk, a1, "hello")
	s.get(talk, a2, "")
}

func (blobsLaw) AttachmentIsOfItsStreamOnly(s *scene) {
	a := s.put(scope, "a1", "hello")
	s.noAttachment(talk, "a1")
	s.attach(talk, "s1", a)
	s.attach(conversation("43"), "s1")
	s.attach(there, "s1")
	s.noAttachment(talk, "a2")
	s.noAttachment(conversation("43"), "a1")
	s.noAttachment(conversation("44"), "a1")
	s.noAttachment(there, "a1")
	s.get(talk, a, "hello")
}

func (blobsLaw) AttachmentsAddUp(s *scene) {
	a1, a2 := s.put(scope, "a1", "one"), s.put(scope, "a2", "two")
	s.attach(talk, "s1", a1)
	s.attach(talk, "s2", a2)
	s.get(talk, a1, "one")
	s.get(talk, a2, "two")
}

func (blobsLaw) BlobOfAnotherScopeCannotBeNamed(s *scene) {
	a := s.put(scope, "a1", "secret")
	s.attach(talk, "s1", a)
	s.cannotName(there, a.Blob)
}

func (blobsLaw) SameBytesTwiceAreOneBlob(s *scene) {
	a1, a2 := s.put(scope, "a1", "hello"), s.put(scope, "a2", "hello")
	equal(s, "blob", a2.Blob, a1.Blob)
	s.attach(talk, "s1", a1, a2)
	s.attach(conversation("43"), "s1", a1)
	s.get(conversation("43"), a1, "hello")
	// One reference less is not the last one.
	s.drop(conversation("43"))
	s.get(talk, a1, "hello")
	s.get(talk, a2, "hello")
}

func (blobsLaw) BlobsOfTwoScopesNeverMeet(s *scene) {
	ours, theirs := s.put(scope, "a1", "same"), s.put("other", "a1", "same")
	theirs.Filename = "theirs.txt"
	s.attach(talk, "s1", ours)
	s.attach(there, "s1", theirs)
	s.drop(talk)
	s.noAttachment(talk, "a1")
	s.get(there, theirs, "same")
}

func (blobsLaw) MebibyteComesBackByteForByte(s *scene) {
	content := make([]byte, 1<<20)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(content)
	a := s.put(scope, "a1", string(content))
	equal(s, "blob", a.Blob, named(string(content)))
	s.attach(talk, "s1", a)
	s.get(talk, a, string(content))
}

func (blobsLaw) BrokenReaderStoresNothing(s *scene) {
	broken, half := errors.New("connection reset"), strings.Repeat("half", 100<<10)
	s.refused(errOf(s.store.Put(s.Context(), scope, io.MultiReader(strings.NewReader(half), iotest.ErrReader(broken)))), broken)
	s.cannotName(talk, named(half))
}

func (blobsLaw) BytesSurviveReopening(s *scene) {
	a := s.put(scope, "a1", "hello")
	s.reopen()
	s.attach(talk, "s1", a)
	s.reopen()
	s.get(talk, a, "hello")
}

func (blobsLaw) AppendRefersToABlob(s *scene) {
	l := s.hold(prompt(talk, "s1"))
	picture := s.put(scope, "a1", "picture")
	picture.MimeType = "image/png"
	s.append(l, svc.Commit{Data: []byte("x"), N: 1, Blobs: []svc.Attachment{picture}})
	s.get(talk, picture, "picture")
}
