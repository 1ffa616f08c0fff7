"""What a user wrote, taken apart into rows that sets can be put into."""
