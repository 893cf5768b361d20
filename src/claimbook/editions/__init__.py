"""The book in other forms than its pages, made from the same claims."""
