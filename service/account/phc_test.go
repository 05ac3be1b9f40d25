package account

import (
	"log/slog"
	"strings"
	"testing"

	"svc.dev/svc/memory"
)

func TestADerivedPasswordIsReadExactlyAsItIsWritten(t *testing.T) {
	h := newHasher(Scrypt{10, 1, 1}, memory.New(0), slog.Default())
	stored, err := h.hash(t.Context(), stranger, "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	p, err := parsePHC(stored)
	if err != nil || p.String() != stored {
		t.Fatalf("parsePHC(%q) = %v, %v", stored, p, err)
	}
	for password, want := range map[string]bool{"correct horse": true, "correct horse ": false, "Correct horse": false, "": false} {
		if right, _, err := h.verify(t.Context(), stranger, stored, password); err != nil || right != want {
			t.Errorf("verify(%q) = %v, %v", password, right, err)
		}
	}
}

// A planted record must neither panic nor choose how much is allocated, and opens for nobody.
func TestAPlantedRecordIsNoPassword(t *testing.T) {
	salt, hash := strings.Repeat("A", 22), strings.Repeat("A", 43)
	h := newHasher(Scrypt{10, 1, 1}, memory.New(0), slog.New(slog.DiscardHandler))
	for name, stored := range map[string]string{
		"ln=40": "$scrypt$ln=40,r=8,p=1$" + salt + "$" + hash, "ln=9": "$scrypt$ln=9,r=8,p=1$" + salt + "$" + hash,
		"r=0": "$scrypt$ln=10,r=0,p=1$" + salt + "$" + hash, "p=17": "$scrypt$ln=10,r=1,p=17$" + salt + "$" + hash,
		"negative": "$scrypt$ln=-10,r=1,p=1$" + salt + "$" + hash, "plus": "$scrypt$ln=+10,r=1,p=1$" + salt + "$" + hash,
		"zeros": "$scrypt$ln=010,r=1,p=1$" + salt + "$" + hash, "order": "$scrypt$r=1,ln=10,p=1$" + salt + "$" + hash,
		"no hash": "$scrypt$ln=10,r=1,p=1$" + salt + "$", "truncated": "$scrypt$ln=10,r=1,p=1$" + salt + "$" + hash[:20],
		"long salt": "$scrypt$ln=10,r=1,p=1$" + salt + "AA$" + hash, "padded": "$scrypt$ln=10,r=1,p=1$" + salt + "==$" + hash,
		"loose bits": "$scrypt$ln=10,r=1,p=1$" + strings.Repeat("A", 21) + "B$" + hash, "newline": "$scrypt$ln=10,r=1,p=1$" + salt[:20] + "\n\n$" + hash,
		"other": "$argon2id$v=19$m=65536,t=2,p=1$" + salt + "$" + hash, "empty": "", "more": "$scrypt$ln=10,r=1,p=1$" + salt + "$" + hash + "$x",
	} {
		before := h.count.Load()
		right, _, err := h.verify(t.Context(), stranger, stored, "")
		if right || err != nil || h.count.Load() != before+1 {
			t.Errorf("%s: right %v, err %v, %d derivations", name, right, err, h.count.Load()-before)
		}
	}
}

func TestACostBelowEveryAcceptedSettingIsRefused(t *testing.T) {
	for text, ok := range map[string]bool{
		"ln=15,r=8,p=3": true, "ln=17,r=8,p=1": true, "ln=13,r=8,p=10": true, "ln=16,r=8,p=3": true, "ln=20,r=16,p=16": true,
		"ln=15,r=8,p=2": false, "ln=15,r=8,p=1": false, "ln=14,r=8,p=4": false, "ln=17,r=4,p=1": false, "ln=21,r=8,p=1": false, "": false, "ln=15": false,
	} {
		if _, err := ParseScrypt(text); (err == nil) != ok {
			t.Errorf("ParseScrypt(%q) = %v", text, err)
		}
	}
}

func FuzzPHC(f *testing.F) {
	f.Add("$scrypt$ln=10,r=1,p=1$" + strings.Repeat("A", 22) + "$" + strings.Repeat("A", 43))
	f.Add("$scrypt$ln=40,r=8,p=1$$")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePHC(text)
		if err == nil && (p.String() != text || p.cost.LogN > 20 || p.cost.R > 16 || p.cost.P > 16) {
			t.Fatalf("parsePHC(%q) = %v", text, p)
		}
	})
}
