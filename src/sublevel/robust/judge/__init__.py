"""The judge: what is kept, violated, decided and audited is measured here."""
