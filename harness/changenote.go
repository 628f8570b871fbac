package harness

// ChangeNote tells a model, with a user's message, what skills and memory are
// now. A session's system prompt stays as it was when the session began, so
// that a provider's cache of it holds; what has changed since comes this way.
func ChangeNote(in PromptInput) string {
	return "(Skills or memory have changed since this session began. They are now:)\n\n" + in.skills() + "\n\n" + in.memory()
}
