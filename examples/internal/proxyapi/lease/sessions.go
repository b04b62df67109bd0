package lease

import (
	"container/list"
	"time"
)

// sessions are those of one holder, each with the proxy that it had last.
type sessions struct {
	byKey map[string]*list.Element
	// used has the bindings, the least recently used in front.
	used *list.List
}

// binding ties a session to a proxy.
type binding struct {
	session, proxy string
	at             time.Time
}

func newSessions() *sessions {
	return &sessions{byKey: make(map[string]*list.Element), used: list.New()}
}

// proxy returns the ID of the session's proxy, or nothing.
func (s *sessions) proxy(session string) string {
	if el, ok := s.byKey[session]; ok {
		return el.Value.(*binding).proxy
	}
	return ""
}

// bind makes the proxy the session's, and the session the last used.
func (s *sessions) bind(session, proxy string, now time.Time) {
	if el, ok := s.byKey[session]; ok {
		b := el.Value.(*binding)
		b.proxy, b.at = proxy, now
		s.used.MoveToBack(el)
		return
	}
	s.byKey[session] = s.used.PushBack(&binding{session: session, proxy: proxy, at: now})
	if s.used.Len() > maxSessions {
		s.drop()
	}
}

// forget drops the sessions that were last used before the time.
func (s *sessions) forget(before time.Time) {
	for el := s.used.Front(); el != nil && el.Value.(*binding).at.Before(before); el = s.used.Front() {
		s.drop()
	}
}

// drop forgets the one least recently used.
func (s *sessions) drop() {
	el := s.used.Front()
	delete(s.byKey, el.Value.(*binding).session)
	s.used.Remove(el)
}
