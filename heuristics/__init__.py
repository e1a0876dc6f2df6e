"""What the papers do instead of solving their exact problems: fast, and without a proof."""
