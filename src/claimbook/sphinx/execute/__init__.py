"""What runs while the site is built: claims, cells of pages, labs."""
