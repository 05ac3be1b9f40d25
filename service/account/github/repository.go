package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// Repository is one that an installation reaches.
type Repository struct {
	ID            int64
	FullName      string // owner/name
	Private       bool
	DefaultBranch string
}

// Repositories are some, and whether there are more than were read.
type Repositories struct {
	Items []Repository
	More  bool
}

// What is read at most of the list. A page is small: a hundred repositories can be longer than an answer may be.
const (
	repositoryPage  = 50
	repositoryPages = 100
)

// UserRepositories are those of an installation that the person can see too. An installation that is not theirs is NotYours.
func (c *Client) UserRepositories(ctx context.Context, token string, id int64) (Repositories, error) {
	var all Repositories
	list := list{
		what: "list repositories", path: "/user/installations/" + strconv.FormatInt(id, 10) + "/repositories",
		name: "repositories", size: repositoryPage, pages: repositoryPages,
	}
	more, err := c.each(ctx, bearer(token), list, func(raw json.RawMessage) (bool, error) {
		r, err := parseRepository(raw)
		all.Items = append(all.Items, r)
		return true, err
	})
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrPermission) {
		return Repositories{}, notYours(err)
	}
	if err != nil {
		return Repositories{}, err
	}
	all.More = more
	return all, nil
}

var repositoryName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}/[A-Za-z0-9._-]{1,100}$`)

func parseRepository(body []byte) (Repository, error) {
	var v struct {
		ID            int64
		FullName      string `json:"full_name"`
		Private       bool
		DefaultBranch string `json:"default_branch"`
	}
	if json.Unmarshal(body, &v) != nil || v.ID <= 0 {
		return Repository{}, errNotUnderstood
	}
	if !repositoryName.MatchString(v.FullName) {
		return Repository{}, fmt.Errorf("repository %d: the name is not one", v.ID)
	}
	return Repository(v), nil
}
