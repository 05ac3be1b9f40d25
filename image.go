package svc

import (
	"context"
	"errors"
	"io"
	"slices"

	"svc.dev/svc/fault"
	"svc.dev/svc/memory"
	"svc.dev/svc/model"
)

// imageShare is the part of what a scope may have that the images of one turn may take.
const imageShare = 2

// imageLeftOut stands where an image would.
const imageLeftOut = "[An image stood here. There are too many to be shown at once.]"

// fetchImages reads the bytes of the images that messages name, when there is memory for them: it is the caller's to release.
// The newest come first; those beyond what one turn may take are left out. The messages themselves are shared and stay as they
// are.
func (th *thread) fetchImages(ctx context.Context, messages []model.Message) (*memory.Grant, error) {
	images := ownImages(messages)
	if len(images) == 0 {
		return nil, nil
	}
	room, err := th.imageRoom(ctx, th.leaveOut(images))
	if err != nil {
		return nil, err
	}
	for _, p := range images {
		if p.Image == nil {
			continue
		}
		data, err := th.image(ctx, p.Image.Attachment)
		if err != nil {
			room.Release()
			return nil, err
		}
		p.Image = &model.Image{MimeType: p.Image.MimeType, Data: data}
	}
	return room, nil
}

// ownImages makes the parts that hold images the caller's own, and returns them in order.
func ownImages(messages []model.Message) (images []*model.Part) {
	for i, m := range messages {
		if slices.ContainsFunc(m.Parts, hasImage) {
			messages[i].Parts, images = ownParts(m.Parts, images)
		}
	}
	return images
}

func hasImage(p model.Part) bool {
	return p.Image != nil || p.Result != nil && slices.ContainsFunc(p.Result.Content, hasImage)
}

func ownParts(parts []model.Part, images []*model.Part) ([]model.Part, []*model.Part) {
	own := slices.Clone(parts)
	for i := range own {
		switch p := &own[i]; {
		case p.Image != nil:
			images = append(images, p)
		case p.Result != nil:
			result := *p.Result
			result.Content, images = ownParts(result.Content, images)
			p.Result = &result
		}
	}
	return own, images
}

// leaveOut replaces the oldest images for which there could never be memory, and says how many bytes the others take.
func (th *thread) leaveOut(images []*model.Part) (need int64) {
	most := th.w.rt.most(th.w.job.lease.Stream.Scope)
	most = min(most/imageShare, most-th.w.job.room.Size())
	for i, p := range slices.Backward(images) {
		if need+p.Image.Size > most {
			for _, p := range images[:i+1] {
				*p = model.Text(imageLeftOut)
			}
			return need
		}
		need += p.Image.Size
	}
	return need
}

// imageRoom waits a moment for memory, and then elsewhere.
func (th *thread) imageRoom(ctx context.Context, n int64) (*memory.Grant, error) {
	short, cancel := context.WithTimeout(ctx, roomWait)
	defer cancel()
	rt := th.w.rt
	room, err := rt.config.Memory.Wait(short, rt.holder(th.w.job.lease.Stream.Scope), memory.Images, n)
	switch {
	case err == nil:
		return room, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, &parked{th.w.now().Add(roomPause), ReasonMemory}
}

// image reads the bytes of one image. That a store does not answer is no outcome.
func (th *thread) image(ctx context.Context, attachment string) ([]byte, error) {
	found, body, err := th.w.rt.store.Get(ctx, th.w.job.lease.Stream, attachment)
	if errors.Is(err, ErrNotFound) {
		return nil, fault.New("attachment_not_available", "An image of the conversation is gone.", "").With("attachmentId", attachment)
	}
	if err != nil {
		return nil, notAnswered("fetch image", err)
	}
	defer body.Close()
	data := make([]byte, found.Blob.Size)
	if _, err := io.ReadFull(body, data); err != nil {
		return nil, notAnswered("read image", err)
	}
	return data, nil
}
