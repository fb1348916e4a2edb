"""The registry of standing queries: what is registered, what that changes, what is active."""
