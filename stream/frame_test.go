package stream_test

import (
	"fmt"
	"strings"
	"testing"

	"svc.dev/svc/stream"
)

func items(from, to int) (list [][]byte) {
	for i := from; i < to; i++ {
		list = append(list, fmt.Appendf(nil, "%d", i))
	}
	return list
}

func TestJoinedFramesAreOnePage(t *testing.T) {
	whole := stream.NewFrame(-1, 6, items(0, 5))
	joined, ok := stream.Join([]stream.Frame{
		stream.NewFrame(-1, 0, nil), stream.NewFrame(0, 2, items(0, 2)), stream.NewFrame(2, 3, nil), stream.NewFrame(3, 6, items(2, 5)),
	})
	if !ok || string(joined.SSE()) != string(whole.SSE()) || joined.Items != 5 || joined.After != -1 || joined.Next != 6 {
		t.Errorf("joined to %d items, %s; want %s", joined.Items, joined.SSE(), whole.SSE())
	}
	if hidden, ok := stream.Join([]stream.Frame{stream.NewFrame(0, 1, nil), stream.NewFrame(1, 2, nil)}); !ok || string(hidden.JSON()) != "[]" {
		t.Errorf("frames without items are joined to %s, want []", hidden.JSON())
	}
}

func TestFramesBeyondAPageAreNotJoined(t *testing.T) {
	long := [][]byte{[]byte(`"` + strings.Repeat("x", stream.PageBytes/2) + `"`)}
	for name, frames := range map[string][]stream.Frame{
		"bytes": {stream.NewFrame(0, 1, long), stream.NewFrame(1, 2, long)},
		"items": {stream.NewFrame(0, stream.PageItems, items(0, stream.PageItems)), stream.NewFrame(stream.PageItems, stream.PageItems+1, items(0, 1))},
	} {
		if f, ok := stream.Join(frames); ok {
			t.Errorf("%s: %d bytes, %d items", name, len(f.JSON()), f.Items)
		}
	}
}
