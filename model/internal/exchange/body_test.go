package exchange

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"runtime"
	"testing"

	"svc.dev/svc/model"
)

// TestPictureIsSentAsItsBase64 reads bodies with pictures of every remainder, small and beyond the encoder's room, twice.
func TestPictureIsSentAsItsBase64(t *testing.T) {
	for _, size := range []int{0, 1, 2, 3, 4, 3071, 3072, 3073, 10_000} {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(i * 7)
		}
		first, second := &model.Image{Data: data}, &model.Image{Data: []byte("x")}
		messages := []model.Message{
			{Parts: []model.Part{{Image: first}}}, {Parts: []model.Part{{Result: &model.ToolResult{Content: []model.Part{{Image: second}}}}}},
		}
		b, err := bodyOf([]any{"a <", Picture{`data:im"age;base64,`, first}, Picture{"", second}, Picture{"", first}, "z"}, messages)
		if err != nil {
			t.Fatal(err)
		}
		encoded := base64.StdEncoding.EncodeToString(data)
		want, _ := json.Marshal([]string{"a <", `data:im"age;base64,` + encoded, "eA==", encoded, "z"})
		for range 2 {
			r, _ := b.open()
			got, err := io.ReadAll(r)
			if err != nil || string(got) != string(want) || b.size() != int64(len(want)) {
				t.Errorf("%d bytes: %d of %d, size %d, %v", size, len(got), len(want), b.size(), err)
			}
		}
	}
}

func TestBodyHoldsNoCopyOfAPicture(t *testing.T) {
	image := &model.Image{Data: make([]byte, 16<<20)}
	messages := []model.Message{{Parts: []model.Part{{Image: image}}}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b, err := bodyOf(Picture{"", image}, messages)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := b.open()
	n, err := io.Copy(io.Discard, r)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; err != nil || n != b.size() || took > 1<<20 {
		t.Errorf("a body of %d bytes, %d of them read, took %d: %v", b.size(), n, took, err)
	}
}

func TestUnknownPictureIsRefused(t *testing.T) {
	if _, err := bodyOf(Picture{"", &model.Image{}}, nil); err == nil {
		t.Error("a body was made of a picture that no message holds")
	}
}
