"""Why a decision, or a policy, is as it is: in words, as a table, and in a picture."""
