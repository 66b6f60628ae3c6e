package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
)

// rule says which requests it is about and what becomes of them. Empty conditions hold always.
type rule struct {
	Verb  string `json:"verb,omitempty"`  // get, list, watch, write
	Path  string `json:"path,omitempty"`  // a regular expression found in the path and query
	Agent string `json:"agent,omitempty"` // text in the User-Agent
	After int    `json:"after,omitempty"` // so many requests pass first
	Times int    `json:"times,omitempty"` // then so many meet the fault; 0: all

	Fault      string `json:"fault"` // a key of faults
	Code       int    `json:"code,omitempty"`
	Reason     string `json:"reason,omitempty"`
	Message    string `json:"message,omitempty"`
	RetryAfter string `json:"retry_after,omitempty"`
	Count      int    `json:"count,omitempty"` // what it counts is the fault's affair

	Seen int `json:"seen"` // requests that matched
	Met  int `json:"met"`  // of these, those that met the fault

	path   *regexp.Regexp
	origin *rule // of a copy that match returned
}

func verb(r *http.Request) string {
	switch {
	case r.Method != http.MethodGet:
		return "write"
	case r.URL.Query().Get("watch") != "":
		return "watch"
	case strings.Count(strings.TrimPrefix(r.URL.Path, "/"), "/") > 3:
		return "get"
	default:
		return "list"
	}
}

func (r *rule) matches(req *http.Request) bool {
	return (r.Verb == "" || r.Verb == verb(req)) &&
		(r.path == nil || r.path.MatchString(req.URL.RequestURI())) &&
		strings.Contains(req.UserAgent(), r.Agent)
}

// due counts a request that matched: is it the fault's turn?
func (r *rule) due() bool {
	r.Seen++
	if r.Seen <= r.After || (r.Times > 0 && r.Met >= r.Times) {
		return false
	}
	r.Met++
	return true
}

type ruleSet struct {
	mutex sync.Mutex
	rules []*rule
}

func (s *ruleSet) replace(text io.Reader) error {
	var rules []*rule
	decoder := json.NewDecoder(text)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&rules); err != nil {
		return err
	}
	for _, r := range rules {
		if _, known := faults[r.Fault]; !known {
			return fmt.Errorf("there is no fault '%s'", r.Fault)
		}
		if r.Path == "" {
			continue
		}
		path, err := regexp.Compile(r.Path)
		if err != nil {
			return err
		}
		r.path = path
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.rules = rules
	return nil
}

// list copies, because requests go on counting.
func (s *ruleSet) list() []rule {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	copies := []rule{}
	for _, r := range s.rules {
		copies = append(copies, *r)
	}
	return copies
}

// match returns a copy of the first rule whose turn it is, or nil.
func (s *ruleSet) match(req *http.Request) *rule {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, r := range s.rules {
		if r.matches(req) && r.due() {
			found := *r
			found.origin = r
			return &found
		}
	}
	return nil
}

// unmeet takes back what match counted: the request had another trouble.
func (s *ruleSet) unmeet(r *rule) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	r.origin.Met--
}
